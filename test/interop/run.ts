import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { envOf, protocol } from "../../common/product.ts";
import { type Ended, runCommand } from "./command.ts";
import { type Control, killProcessesOf, processesOf, startControl } from "./control.ts";
import { decodeWithClient } from "./encodings.ts";
import { hasPython, installClient, newestVersion } from "./existing-client.ts";
import { openPool } from "./pool.ts";
import { serviceFiles, serviceSteps } from "./services.ts";
import { decoding, faultOf, type Step, stepsAgainst, taskFiles } from "./steps.ts";

const stepTimeoutMs = 300_000;
const patienceMs = 60_000;
const pauseMs = 200;
const logTailLength = 8_000;
const interrupted = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const)
  process.once(name, () => interrupted.abort(new Error(`interrupted by ${name}`)));

process.exitCode = await run(interrupted.signal);

/** Drives our control plane with the protocol's existing client; the exit code. */
async function run(signal: AbortSignal): Promise<number> {
  if (!(await hasPython(signal))) {
    console.log("interop: left out, as python3 with pip and venv is not here");
    return 0;
  }
  const version = await newestVersion(signal);
  if (version === undefined) {
    console.log("interop: left out, as the package index of Python cannot be reached from here");
    return 0;
  }
  console.log(`interop: the existing client ${version} against our control plane`);
  const bin = await installClient(version, signal);
  const folder = await mkdtemp(join(tmpdir(), "outrigger-interop-"));
  try {
    const control = await startControl(join(folder, "control"), signal);
    const whole = await drive(control, bin, folder, signal);
    return (await endsCleanly(control, folder)) && whole ? 0 : 1;
  } finally {
    await killProcessesOf(folder);
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs the steps until a row has one that fails; whether all went well. */
async function drive(
  control: Control,
  bin: string,
  folder: string,
  signal: AbortSignal,
): Promise<boolean> {
  const home = join(folder, "home");
  await mkdir(home);
  for (const [name, text] of Object.entries({ ...taskFiles, ...serviceFiles })) {
    await mkdir(dirname(join(home, name)), { recursive: true });
    await writeFile(join(home, name), text);
  }
  const env = {
    PATH: [bin, process.env["PATH"]].join(":"),
    HOME: home,
    ...envOf("DISABLE_USAGE_COLLECTION", "1"),
  };
  const options = { env, cwd: home, timeoutMs: stepTimeoutMs, signal };
  const decoded = await decodeWithClient(bin, options);
  if (!report("(the client decodes what is not JSON)", decoded, faultOf(decoding, decoded, home)))
    return false;

  const isWell = async (step: Step) => {
    const patientUntil = performance.now() + (step.isPatient ? patienceMs : 0);
    for (;;) {
      const ended = await runCommand([join(bin, protocol.requestPrefix), ...step.args], options);
      const fault = faultOf(step, ended, home);
      if (fault === undefined || performance.now() > patientUntil)
        return report(lineOf(step), ended, fault);
      await delay(pauseMs, undefined, { signal });
    }
  };
  await using pool = await openPool(home);
  for (const row of [...stepsAgainst(control.url), ...serviceSteps, ...pool.steps]) {
    const well = await Promise.all(row.map(isWell));
    if (well.every(Boolean)) continue;
    await printLogs(folder);
    return false;
  }
  return true;
}

/** Stops the control plane, which must leave no process of ours behind. */
async function endsCleanly(control: Control, folder: string): Promise<boolean> {
  const startedAt = performance.now();
  const exitCode = await control.stop();
  const left = await processesOf(folder);
  const wrong = [
    ...(exitCode === 0 ? [] : [`exit code ${exitCode}`]),
    ...left.map(({ command }) => `still runs: ${command}`),
  ];
  const fault = wrong.length === 0 ? undefined : wrong.join("; ");
  const ended = { exitCode, text: "", tookMs: performance.now() - startedAt };
  return report("(the control plane stops)", ended, fault);
}

/** Prints the ends of what control and its agents wrote, before their folder goes away. */
async function printLogs(folder: string): Promise<void> {
  const files = await readdir(folder, { recursive: true });
  for (const file of files.filter((name) => /(control\.out|agent\.log)$/.test(name))) {
    const text = await readFile(join(folder, file), "utf8");
    console.log(`\n--- ${file}\n${text.slice(-logTailLength)}`);
  }
}

function lineOf(step: Step): string {
  return `${protocol.requestPrefix} ${step.args.join(" ")}`;
}

/** Prints a row of the table, and the output of a step that failed; whether it went well. */
function report(what: string, { tookMs, text }: Ended, fault: string | undefined): boolean {
  const seconds = (tookMs / 1000).toFixed(1).padStart(6);
  console.log(`${what.padEnd(48)}${seconds} s  ${fault ?? "ok"}`);
  if (fault !== undefined && text !== "") console.log(`\n${text}`);
  return fault === undefined;
}
