import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startAgent, until } from "../helpers/agent.ts";
import type { Figure } from "./figures.ts";
import type { Lab } from "./lab.ts";
import { median, quantile } from "./measure.ts";

const rounds = 100;

/** From the SIGTERM that ends a node to the first line of its hook, each time with a new agent. */
export async function preemption({ signal }: Lab): Promise<Figure[]> {
  const times: number[] = [];
  while (times.length < rounds && !signal.aborted) times.push(await timeToHook());
  const what = "SIGTERM to hook start";
  return [
    { what, measured: median(times), unit: "ms" },
    { what: `${what}: p99`, measured: quantile(times, 0.99), unit: "ms", target: { atMost: 50 } },
  ];
}

async function timeToHook(): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const env = { OUTRIGGER_ON_TERM: "preemption" };
  const agent = await startAgent({ after: (clean) => stack.defer(clean) }, { env });
  const run = "echo $EPOCHREALTIME > ~/started.new && mv ~/started.new ~/started; sleep 100";
  const hook = { run, events: ["preemption" as const], timeoutSeconds: 60 };
  await agent.call("putHooks", { version: "1", hooks: [hook] });
  const since = performance.timeOrigin + performance.now();
  process.kill(agent.pid, "SIGTERM");
  const seconds = await until(() => readOrNothing(join(agent.home, "started")));
  return Number(seconds) * 1_000 - since;
}

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
