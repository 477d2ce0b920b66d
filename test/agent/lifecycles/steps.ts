import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findBearers, type ProcessStat } from "../../../common/process-tree.ts";
import { type HookEvent, hookEvents } from "../../../contract/hooks.ts";
import type {
  GivenLifecycleOrder,
  HookSet,
  Lifecycle,
} from "../../../contract/lifecycle-shapes.ts";
import { type TestAgent, text, until } from "../../helpers/agent.ts";

type Hook = HookSet["hooks"][number];
let begun = 0;

/** An entry of the list: for every event, with a minute, unless told otherwise. */
export const aHook = (run: string, more: Partial<Hook> = {}): Hook => ({
  run,
  events: [...hookEvents],
  timeoutSeconds: 60,
  ...more,
});

/** Says that it runs, and for what; ends once it is let go. */
export const waits =
  "echo $HOOK_EVENT > ~/in; until [ -e ~/go ]; do sleep 0.05; done; echo ran $HOOK_EVENT";
/** A script that says its name and what it runs for. */
export const says = (name: string) => `echo ${name} $HOOK_EVENT`;
/** Lets those go that wait. */
export const letGo = (agent: TestAgent): void => writeFileSync(join(agent.home, "go"), "");

/** Gives the node its hooks. */
export const putHooks = (
  agent: TestAgent,
  hooks: readonly Hook[],
  more: Partial<HookSet> = {},
): Promise<unknown> => agent.call("putHooks", { version: "1", hooks: [...hooks], ...more });

/** Begins a lifecycle as a user would; each has an id of its own. */
export function begin(
  agent: TestAgent,
  event: HookEvent,
  more: Partial<GivenLifecycleOrder> = {},
): Promise<Lifecycle> {
  begun += 1;
  const cause = event === "preemption" ? "provider" : "user";
  const order = { id: `lifecycle-${begun}`, event, cause, because: `${event} by ann` } as const;
  return agent.call("beginLifecycle", { ...order, ...more });
}

/** Waits until the lifecycle has the status. */
export const untilStatus = (
  agent: TestAgent,
  { id }: Pick<Lifecycle, "id">,
  status: Lifecycle["status"],
): Promise<Lifecycle> =>
  until(async () => {
    const lifecycle = await agent.call("getLifecycle", { id });
    return lifecycle.status === status ? lifecycle : undefined;
  });

/** Begins a lifecycle and waits until it is READY. */
export const play = async (
  agent: TestAgent,
  event: HookEvent,
  more: Partial<GivenLifecycleOrder> = {},
): Promise<Lifecycle> => untilStatus(agent, await begin(agent, event, more), "READY");

/** Waits until a file of the home has this text, or any. */
export const untilFile = (agent: TestAgent, name: string, wanted?: string): Promise<string> =>
  until(() => {
    const found = findFile(agent, name);
    return wanted === undefined || found === wanted ? found : undefined;
  });

/** The text of a file of the home, or undefined. */
export function findFile(agent: TestAgent, name: string): string | undefined {
  try {
    return readFileSync(join(agent.home, name), "utf8");
  } catch {
    return undefined;
  }
}

/** The log of an event as people find it on the node. */
export const logOnNode = (agent: TestAgent, event: HookEvent): string =>
  findFile(agent, `.outrigger/hooks/${event}.log`) ?? "";

/** The log of an event as it is read through the API. */
export const hookLog = async (
  agent: TestAgent,
  { id }: Pick<Lifecycle, "id">,
  event: HookEvent,
): Promise<string> => text((await agent.open("readHookLog", { id, event })).body);

/** How each run fared: `0 stop SUCCEEDED 0`. */
export const outcomes = ({ runs }: Lifecycle): string[] =>
  runs.map(({ index, event, status, exitCode }) => `${index} ${event} ${status} ${exitCode}`);

/** The processes of the agent's home but the agent itself. */
export const processesOf = ({ home, pid }: TestAgent): ProcessStat[] =>
  findBearers(`HOME=${home}`).filter((one) => one.pid !== pid);

/** Whether it is so at one of many tries: what the machine does besides can only spoil some. */
export async function isEverSo(look: () => Promise<boolean>, triesAtMost = 50): Promise<boolean> {
  for (let tries = 0; tries < triesAtMost; tries += 1) if (await look()) return true;
  return false;
}

/** The first outcome that is so, or the last of a few: where time is short, the machine may spoil some. */
export async function unspoilt<T>(play: () => Promise<T>, isSo: (outcome: T) => boolean) {
  for (let tries = 1; ; tries += 1) {
    const outcome = await play();
    if (isSo(outcome) || tries === 5) return outcome;
  }
}

/** The instant so many milliseconds from now. */
export const soon = (ms: number): number => Date.now() + ms;
