import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { envOf, protocol } from "../../common/product.ts";
import { runCommand } from "./command.ts";
import { type Control, killProcessesOf, processesOf, startControl } from "./control.ts";
import { installClient, newestVersion } from "./existing-client.ts";
import { faultOf, type Step, stepsAgainst, taskYaml } from "./steps.ts";

const stepTimeoutMs = 60_000;
const interrupted = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const)
  process.once(name, () => interrupted.abort(new Error(`interrupted by ${name}`)));

process.exitCode = await run(interrupted.signal);

/** Drives our control plane with the protocol's existing client; the exit code. */
async function run(signal: AbortSignal): Promise<number> {
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

/** Runs the steps until one fails; whether all went well. */
async function drive(
  control: Control,
  bin: string,
  folder: string,
  signal: AbortSignal,
): Promise<boolean> {
  const home = join(folder, "home");
  await mkdir(home);
  await writeFile(join(home, "task.yaml"), taskYaml);
  const env = {
    PATH: [bin, process.env["PATH"]].join(":"),
    HOME: home,
    ...envOf("DISABLE_USAGE_COLLECTION", "1"),
  };
  for (const step of stepsAgainst(control.url)) {
    const command = [join(bin, protocol.requestPrefix), ...step.args];
    const options = { env, cwd: home, timeoutMs: stepTimeoutMs, signal };
    const { exitCode, text, tookMs } = await runCommand(command, options);
    const fault = faultOf(step, exitCode, text);
    printRow(lineOf(step), tookMs, fault);
    if (fault === undefined) continue;
    console.log(
      `\n${text}\n--- the control plane wrote\n${await readFile(control.logFile, "utf8")}`,
    );
    return false;
  }
  return true;
}

/** Stops the control plane, which must leave no process of ours behind. */
async function endsCleanly(control: Control, folder: string): Promise<boolean> {
  const startedAt = performance.now();
  const exitCode = await control.stop();
  const left = (await processesOf(folder)).map(({ command }) => command);
  const fault =
    exitCode !== 0
      ? `exit code ${exitCode}`
      : left.length > 0
        ? `left: ${left.join("; ")}`
        : undefined;
  printRow("(the control plane stops)", performance.now() - startedAt, fault);
  return fault === undefined;
}

function lineOf(step: Step): string {
  return `${protocol.requestPrefix} ${step.args.join(" ")}`;
}

function printRow(what: string, tookMs: number, fault: string | undefined): void {
  const seconds = (tookMs / 1000).toFixed(1).padStart(6);
  console.log(`${what.padEnd(48)}${seconds} s  ${fault ?? "ok"}`);
}
