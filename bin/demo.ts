import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { styleText } from "node:util";
import { endTree } from "../common/end-processes.ts";
import { findTree } from "../common/process-tree.ts";

const root = join(import.meta.dirname, "..");
const hello = "examples/hello.yaml";

/** What the demo does, as a person would type it. */
const steps = [
  { title: "Start a control plane", args: ["api", "start", "--port", "0"] },
  { title: "Launch a cluster and run a task on it", args: ["launch", "-y", "-c", "demo", hello] },
  {
    title: "Run a second job on it",
    args: [
      "exec",
      "demo",
      "echo one more job, as rank $OUTRIGGER_NODE_RANK of $OUTRIGGER_NUM_NODES",
    ],
  },
  { title: "Look at its queue", args: ["queue", "demo"] },
  { title: "Look at the clusters", args: ["status"] },
  { title: "Stop it: nothing runs, its disk is kept", args: ["stop", "-y", "demo"] },
  { title: "Start it again", args: ["start", "-y", "demo"] },
  { title: "See what happened to it", args: ["events", "demo"] },
  { title: "Take it down", args: ["down", "-y", "demo"] },
  { title: "Stop the control plane", args: ["api", "stop"] },
];

const home = mkdtempSync(join(tmpdir(), "outrigger-demo-"));
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => interrupted.abort());

const done: { title: string; seconds: number }[] = [];
let failure: string | undefined;
try {
  for (const step of steps) done.push(await run(step));
} catch (error) {
  failure = error instanceof Error ? error.message : String(error);
}
const left = await cleanUp();
printSummary();
process.exitCode = failure === undefined && left === 0 ? 0 : 1;

/** Runs a step with the real command line, its output straight to the terminal. */
async function run({ title, args }: (typeof steps)[number]) {
  const typed = ["outrigger", ...args.map((arg) => (/[^\w./-]/.test(arg) ? `'${arg}'` : arg))];
  console.log(`\n${styleText("bold", title)}\n${styleText("dim", `$ ${typed.join(" ")}`)}`);
  const since = performance.now();
  const child = spawn(join(root, "bin/outrigger"), args, {
    cwd: root,
    env: { ...process.env, OUTRIGGER_HOME: home, ...endpoint() },
    stdio: ["ignore", "inherit", "inherit"],
    signal: interrupted.signal,
  });
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.once("error", reject).once("exit", resolve);
  const code = await promise;
  if (code !== 0) throw new Error(`outrigger ${args[0]} ended with ${code}`);
  return { title, seconds: (performance.now() - since) / 1000 };
}

/** Where the control plane of the demo listens, once it does. */
function endpoint(): { OUTRIGGER_ENDPOINT?: string } {
  const file = join(home, "control.pid");
  if (!existsSync(file)) return {};
  const { host, port } = JSON.parse(readFileSync(file, "utf8"));
  return { OUTRIGGER_ENDPOINT: `http://${host}:${port}` };
}

/** Ends whatever still runs, removes the folder; how many processes a whole demo left behind. */
async function cleanUp(): Promise<number> {
  const nodes = join(home, "nodes");
  const homes = existsSync(nodes) ? readdirSync(nodes).map((name) => join(nodes, name)) : [];
  const marks = [`OUTRIGGER_HOME=${home}`, ...homes.map((node) => `HOME=${node}`)];
  const trees = marks.map((mark) => ({ roots: [], mark }));
  const found = trees.flatMap(findTree).length;
  for (const tree of trees) await endTree(tree, 1_000);
  rmSync(home, { recursive: true, force: true });
  return found;
}

function printSummary(): void {
  console.log(`\n${styleText("bold", "What it did")}`);
  for (const { title, seconds } of done)
    console.log(
      `  ${styleText("green", "✓")} ${title.padEnd(44)}${seconds.toFixed(2).padStart(6)} s`,
    );
  const total = done.reduce((sum, { seconds }) => sum + seconds, 0);
  const remains = left === 0 ? "nothing is left behind" : `${left} processes were left and ended`;
  if (failure === undefined) console.log(`  ${total.toFixed(1)} s in all; ${remains}.`);
  else console.log(`  ${styleText("red", "✗")} ${failure}; ${remains}.`);
}
