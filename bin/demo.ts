import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { styleText } from "node:util";
import { endTree } from "../common/end-processes.ts";
import { messageOf } from "../common/errors.ts";
import { findTree } from "../common/process-tree.ts";
import { apiKey, balancerMarks, type Demo, type Step, serviceSteps } from "./demo/service.ts";

const root = join(import.meta.dirname, "..");
const hello = "examples/hello.yaml";
const hooks = "examples/hooks.yaml";
const home = mkdtempSync(join(tmpdir(), "outrigger-demo-"));
const results = `RESULTS=${join(home, "results")}`;

/** What the demo does, as a person would type it. */
const steps: readonly Step[] = [
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
  {
    title: "Run one that has hooks to save its work",
    args: ["launch", "-y", "-d", "-c", "demo", "--env", results, hooks],
  },
  { title: "Stop it: hooks run first, its disk is kept", args: ["stop", "-y", "demo"] },
  { title: "Read what they wrote, though it is off", args: ["logs", "--hook", "demo"] },
  { title: "Start it again", args: ["start", "-y", "demo"] },
  { title: "See what happened to it", args: ["events", "demo"] },
  { title: "Take it down", args: ["down", "-y", "demo"] },
  ...serviceSteps,
  { title: "Stop the control plane", args: ["api", "stop"] },
];

const interrupted = new AbortController();
const { signal } = interrupted;
const demo: Demo = { home, answerOf, signal };
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => interrupted.abort());

const done: { title: string; seconds: number }[] = [];
let failure: string | undefined;
try {
  for (const step of steps) done.push(await run(step));
} catch (error) {
  failure = messageOf(error);
}
const left = await cleanUp();
printSummary();
process.exitCode = failure === undefined && left === 0 ? 0 : 1;

/** Runs a step, with the real command line where it has one. */
async function run(step: Step): Promise<{ title: string; seconds: number }> {
  const typed = "typed" in step ? step.typed : lineOf(step.args);
  console.log(`\n${styleText("bold", step.title)}\n${styleText("dim", `$ ${typed}`)}`);
  const since = performance.now();
  if ("typed" in step) await step.show(demo);
  else await ended(start(step.args, "inherit"), step.args);
  return { title: step.title, seconds: (performance.now() - since) / 1000 };
}

function lineOf(args: readonly string[]): string {
  return ["outrigger", ...args.map((arg) => (/[^\w./-]/.test(arg) ? `'${arg}'` : arg))].join(" ");
}

/** Starts a command line; its errors go straight to the terminal. */
function start(args: readonly string[], stdout: "inherit" | "pipe"): ChildProcess {
  return spawn(join(root, "bin/outrigger"), args, {
    cwd: root,
    // Its clusters join the SSH configuration of whose home it is.
    env: { ...process.env, HOME: home, OUTRIGGER_HOME: home, API_KEY: apiKey, ...endpoint() },
    stdio: ["ignore", stdout, "inherit"],
    signal,
  });
}

async function ended(child: ChildProcess, args: readonly string[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.once("error", reject).once("close", resolve);
  const code = await promise;
  if (code !== 0) throw new Error(`outrigger ${args[0]} ended with ${code}`);
}

/** What a command line prints. */
async function answerOf(...args: string[]): Promise<string> {
  const child = start(args, "pipe");
  const [answer] = await Promise.all([text(child.stdout ?? Readable.from([])), ended(child, args)]);
  return answer;
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
  const nodeMarks = homes.map((node) => `HOME=${node}`);
  const marks = [`OUTRIGGER_HOME=${home}`, ...nodeMarks, ...balancerMarks(home)];
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
      `  ${styleText("green", "✓")} ${title.padEnd(52)}${seconds.toFixed(2).padStart(6)} s`,
    );
  const total = done.reduce((sum, { seconds }) => sum + seconds, 0);
  const remains = left === 0 ? "nothing is left behind" : `${left} processes were left and ended`;
  if (failure === undefined) console.log(`  ${total.toFixed(1)} s in all; ${remains}.`);
  else console.log(`  ${styleText("red", "✗")} ${failure}; ${remains}.`);
}
