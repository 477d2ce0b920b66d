import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { envOf, protocol } from "../../common/product.ts";
import { startEngine, whyNoEngine } from "../helpers/engines.ts";
import { startClient } from "./client.ts";
import { runCommand } from "./command.ts";
import { type Control, killProcessesOf, processesOf, startControl } from "./control.ts";
import { decodeWithClient } from "./encodings.ts";
import { installClient } from "./existing-client.ts";
import { faultOf, type Line, readStages } from "./lines.ts";
import { checkLogins } from "./logins.ts";
import { addPool } from "./pool.ts";
import type { Report } from "./report.ts";
import { dryRunOf, readTaskFiles, type TaskFile } from "./tasks.ts";

const lineTimeoutMs = 120_000;
const patienceMs = 90_000;
const pauseMs = 200;
const linesAtOnce = 3;
const logTailLength = 8_000;
const tables = [
  ...["basics", "clusters", "storage", "containers", "services", "worker-pools", "pools"],
  ...["workspaces", "last"],
];

/** Ports for the services of each client: control planes that look for free ones meet in the same range. */
const portsOf = (client: number) => ({
  task: String(18_080 + client),
  settings: {
    OUTRIGGER_REPLICA_PORTS: `${21_000 + client * 100}-${21_099 + client * 100}`,
    OUTRIGGER_BALANCER_PORTS: `${31_000 + client * 100}-${31_099 + client * 100}`,
  },
});

/** Drives a control plane of ours with one version of the existing client; `at` is its number. */
export async function checkClient(report: Report, at: number, signal: AbortSignal): Promise<void> {
  const { task: port, settings } = portsOf(at);
  const bin = await installClient(report.version, signal);
  await using stack = new AsyncDisposableStack();
  const engine = whyNoEngine("docker")
    ? undefined
    : await startEngine({ after: (end) => stack.defer(end) }, "docker");
  const folder = await mkdtemp(join(tmpdir(), "outrigger-interop-"));
  try {
    const env = { ...settings, ...engine?.env };
    const control = await startControl(join(folder, "control"), env, signal);
    await drive({ control, bin, folder, port, image: engine?.image }, report, signal);
    await checkEnd(control, folder, report);
    await checkLogins(report, bin, join(folder, "logins"), signal);
    if (report.hasFaults()) await printLogs(folder);
  } finally {
    await killProcessesOf(folder);
    await rm(folder, { recursive: true, force: true });
  }
}

interface Bed {
  readonly control: Control;
  readonly bin: string;
  readonly folder: string;
  readonly port: string;
  /** An image that the control plane can run; undefined where it runs none. */
  readonly image: string | undefined;
}

async function drive(
  { control, bin, folder, port, image }: Bed,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const home = join(folder, "home");
  const allFiles = readTaskFiles(await readFile(fileOf("lines", "tasks.txt"), "utf8"));
  const taskFiles = allFiles.filter(({ text }) => image !== undefined || !text.includes("docker:"));
  await writeHome(home, taskFiles, port);
  const hasPool = await addPool(home, stack);
  const path = [bin, process.env["PATH"]].join(":");
  const env = { PATH: path, HOME: home, ...envOf("DISABLE_USAGE_COLLECTION", "1") };
  const options = { env, cwd: home, timeoutMs: lineTimeoutMs, signal };
  report.check("(the client decodes what is not JSON)", await decodeWithClient(bin, options));
  const login = [join(bin, protocol.requestPrefix), "api", "login", "-e", control.url];
  report.check("api login", await runCommand(login, options));

  const client = stack.use(startClient(bin, env, home));
  const run = ([first = "", ...rest]: readonly string[]) =>
    first === "!" ? runCommand(rest, options) : client.run([first, ...rest], lineTimeoutMs);
  const runOne = async (line: Line) => {
    const patientUntil = performance.now() + (line.outcome === "until" ? patienceMs : 0);
    for (;;) {
      const ended = await run(line.args);
      const fault = faultOf(line, ended, home);
      if (fault === undefined || performance.now() > patientUntil)
        return report.add(line, ended, fault);
      await delay(pauseMs, undefined, { signal });
    }
  };
  const reader = {
    version: report.version,
    values: { url: control.url, version: report.version, port, image: image ?? "" },
  };
  const isThere: Record<string, boolean> = { pools: hasPool, containers: image !== undefined };
  const names = tables.filter((name) => isThere[name] ?? true);
  const texts = await Promise.all(
    names.map((name) => readFile(fileOf("lines", `${name}.txt`), "utf8")),
  );
  for (const stage of texts.flatMap((text) => readStages(text, reader)))
    await mapInBatches(stage, runOne);
  await mapInBatches(taskFiles, async (file) => report.addTask(file, await runOne(dryRunOf(file))));
}

const fileOf = (...path: string[]): string => join(import.meta.dirname, ...path);

/** What the client finds in its home: the files that the lines name. */
async function writeHome(
  home: string,
  taskFiles: readonly TaskFile[],
  port: string,
): Promise<void> {
  await cp(fileOf("files"), home, { recursive: true });
  for (const name of ["service.yaml", "service-2.yaml"]) {
    const text = await readFile(fileOf("files", name), "utf8");
    await writeFile(join(home, name), text.replace("8080", port));
  }
  await mkdir(join(home, "tasks"));
  for (const { name, text } of taskFiles) await writeFile(join(home, "tasks", name), text);
}

/** Works on all of them, a few at a time. */
async function mapInBatches<T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = [...items];
  const worker = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: linesAtOnce }, worker));
}

/** Stops the control plane, which must leave no process of ours behind. */
async function checkEnd(control: Control, folder: string, report: Report): Promise<void> {
  const startedAt = performance.now();
  const exitCode = await control.stop();
  const left = await processesOf(folder);
  const text = left.map(({ command }) => `still runs: ${command}\n`).join("");
  report.check("(the control plane stops)", {
    exitCode: left.length > 0 ? 1 : exitCode,
    text,
    tookMs: performance.now() - startedAt,
  });
}

/** Prints the ends of what control and its agents wrote, before their folder goes away. */
async function printLogs(folder: string): Promise<void> {
  const files = await readdir(folder, { recursive: true });
  for (const file of files.filter((name) => /(control\.out|agent\.log)$/.test(name))) {
    const text = await readFile(join(folder, file), "utf8");
    console.log(`\n--- ${file}\n${text.slice(-logTailLength)}`);
  }
}
