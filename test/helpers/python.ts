import { existsSync } from "node:fs";
import { mkdir, mkdtemp, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as z from "zod";
import { errorCodeOf } from "../../common/errors.ts";
import { runCommand } from "../interop/command.ts";

const env = { ...process.env, PIP_NO_INPUT: "1" };
const pipOptions = ["--quiet", "--disable-pip-version-check"];
/** In a hurry, and without warnings beside the report. */
const hurry = ["--quiet", "--timeout", "5", "--retries", "0"];

const Report = z.object({
  install: z.array(z.object({ metadata: z.object({ name: z.string(), version: z.string() }) })),
});

/** Whether this machine's Python can make environments and install into them. */
export async function hasPython(signal: AbortSignal): Promise<boolean> {
  const command = ["python3", "-c", "import ensurepip, pip, venv"];
  return (await runCommand(command, { env, timeoutMs: 60_000, signal })).exitCode === 0;
}

/** The newest version that the package index offers of what is wanted; undefined when none answers. */
export async function newestVersion(
  wanted: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const dryRun = ["--dry-run", "--no-deps", "--ignore-installed", "--report", "-"];
  const command = ["python3", "-m", "pip", "install", ...pipOptions, ...hurry, ...dryRun, wanted];
  const { exitCode, text } = await runCommand(command, { env, timeoutMs: 60_000, signal });
  if (exitCode !== 0) return undefined;
  return Report.parse(JSON.parse(text)).install[0]?.metadata.version;
}

/**
 * Installs a package into an environment of its own, kept for the next run; its `bin` folder. Runs
 * that install at the same time do so side by side, and one of them is kept.
 */
export async function installPackage(
  name: string,
  version: string,
  signal: AbortSignal,
): Promise<string> {
  const cache = process.env["XDG_CACHE_HOME"] ?? tmpdir();
  const kept = join(cache, "outrigger-python", `${name}-${version}`);
  if (existsSync(join(kept, "complete"))) return join(kept, "bin");

  await mkdir(dirname(kept), { recursive: true });
  const folder = await mkdtemp(`${kept}-`);
  const bin = join(folder, "bin");
  const pip = [join(bin, "python"), "-m", "pip", "install", ...pipOptions];
  await must(["python3", "-m", "venv", folder], signal);
  await must([...pip, `${name}==${version}`], signal);
  await writeFile(join(folder, "complete"), "");
  await symlink(folder, kept).catch((error: unknown) => {
    if (errorCodeOf(error) !== "EEXIST") throw error;
  });
  return bin;
}

async function must(command: readonly string[], signal: AbortSignal): Promise<void> {
  const { exitCode, text } = await runCommand(command, { env, timeoutMs: 600_000, signal });
  if (exitCode !== 0) throw new Error(`${command.join(" ")} failed:\n${text}`);
}
