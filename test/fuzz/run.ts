import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { hasPython, installPackage, newestVersion } from "../helpers/python.ts";

/** The fuzzer; another version may find other things. */
const fuzzer = { name: "schemathesis", version: "4.32.5" };
/** Another one plays another game: `FUZZ_SEED=7 npm run fuzz`. */
const seed = process.env["FUZZ_SEED"] ?? "1";
const interrupted = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const)
  process.once(name, () => interrupted.abort(new Error(`interrupted by ${name}`)));

process.exitCode = await run(interrupted.signal);

/** Fuzzes the HTTP API of a control plane; the exit code. */
async function run(signal: AbortSignal): Promise<number> {
  if (!(await hasPython(signal))) {
    console.log("left out: fuzzing, because python3 with pip and venv is not here");
    return 0;
  }
  const { name, version } = fuzzer;
  if ((await newestVersion(`${name}==${version}`, signal)) === undefined) {
    console.log(
      `left out: fuzzing, because the Python package index does not offer ${name} ${version}, or does not answer`,
    );
    return 0;
  }
  const bin = await installPackage(name, version, signal);
  console.log(`fuzz: ${name} ${version} against our control plane, seed ${seed}`);
  return drive(join(bin, name));
}

/** Where we may, in a network of its own: pools of machines that the fuzzer makes up lead nowhere. */
function drive(program: string): number {
  const game = [process.execPath, join(import.meta.dirname, "drive.ts"), program, seed];
  const alone = ["--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"];
  const canBeAlone = spawnSync("unshare", [...alone, "true"]).status === 0;
  const [file = "", ...args] = canBeAlone
    ? ["unshare", ...alone, ...game]
    : [...game, "--exclude-path-regex", "^/ssh_node_pools"];
  return spawnSync(file, [...args, ...process.argv.slice(2)], { stdio: "inherit" }).status ?? 1;
}
