import { fail } from "../../common/errors.ts";
import type { ReplicaInfo, ServiceStatusRecord } from "../../contract/records/services.ts";
import { openAlarm } from "../alarm.ts";
import { interruptedExit } from "../declined.ts";
import { patiently } from "../follow.ts";
import { openProgress, type Progress } from "../progress.ts";
import { listServices } from "../services.ts";
import { tellCommands } from "../ways.ts";
import type { World } from "../world.ts";
import { isLost } from "./detached.ts";
import { howMany, isAmiss, isReady, openReasons } from "./serve-reasons.ts";

/** What a look at a service says to whoever waits for it; undefined is: wait on. */
export type Verdict = { readonly failed: string } | "reached" | undefined;

export interface Wait {
  readonly name: string;
  readonly title: string;
  readonly judge: (service: ServiceStatusRecord) => Verdict;
}

const firstPauseMs = 250;
const longestPauseMs = 3_000;

/**
 * Watches a service, telling what becomes of its replicas, until it is where it was to be; answers
 * it. Of Ctrl-C it says that the service goes on, and answers the exit code. Throws `RuntimeError`
 * when the service will not get there.
 */
export async function followService(
  world: World,
  wait: Wait,
): Promise<ServiceStatusRecord | number> {
  const progress = openProgress(world.terminal);
  progress.step(wait.title);
  try {
    const service = await untilReached(world, wait, progress);
    progress.end("done");
    return service;
  } catch (error) {
    const isLeft = world.signal.aborted || isLost(error);
    progress.end(isLeft ? "left" : "failed");
    if (isLeft) tellGoesOn(world, wait.name);
    if (!world.signal.aborted) throw error;
    return interruptedExit;
  }
}

function tellGoesOn({ terminal, signal }: World, name: string): void {
  const when = signal.aborted ? "" : ", even while the control plane is down";
  terminal.note(`Service ${name} keeps running${when}.`);
  tellCommands(terminal, [
    ["look", `outrigger serve status ${name}`],
    ["down", `outrigger serve down ${name}`],
  ]);
}

async function untilReached(
  world: World,
  { name, title, judge }: Wait,
  progress: Progress,
): Promise<ServiceStatusRecord> {
  const tell = openTelling(progress);
  using alarm = openAlarm(await world.connect(), { name }, world.signal);
  for (let looks = 0; ; looks += 1) {
    const service = await look(world, name);
    tell(service);
    progress.reword(`${title}: ${howMany(service)} ready`);
    const verdict = judge(service);
    if (verdict === "reached") return service;
    if (verdict !== undefined) fail("RuntimeError", verdict.failed);
    const pauseMs = Math.min(firstPauseMs * 1.2 ** looks, longestPauseMs);
    await alarm.wait(pauseMs);
  }
}

/** How the service is now; a control plane that is away for a moment is waited for. */
async function look(world: World, name: string): Promise<ServiceStatusRecord> {
  const client = await world.connect();
  const [service] = await patiently(() => listServices(client, [name]), world);
  return service ?? fail("NotFoundError", `service ${name} is gone: it was taken down`);
}

/** Tells each change of a replica once; those of older versions only from the second look on. */
function openTelling(progress: Progress): (service: ServiceStatusRecord) => void {
  const told = new Map<number, ReplicaInfo>();
  const reasonLines = openReasons();
  return (service) => {
    for (const replica of service.replica_info.toSorted(readyFirst)) {
      const before = told.get(replica.replica_id);
      told.set(replica.replica_id, replica);
      const isOld = before === undefined && replica.version !== service.version;
      const lines = isOld ? [] : newsOf(replica, before, reasonLines);
      if (lines.length > 0) progress.write(Buffer.from(`${lines.join("\n")}\n`));
    }
  };
}

/** One that got ready is told of before the one that goes for it. */
const readyFirst = (a: ReplicaInfo, b: ReplicaInfo): number =>
  Number(isReady(b)) - Number(isReady(a)) || a.replica_id - b.replica_id;

/** What is new of a replica; what it printed last may be known only a while after it failed. */
function newsOf(
  replica: ReplicaInfo,
  before: ReplicaInfo | undefined,
  reasonLines: ReturnType<typeof openReasons>,
): string[] {
  const { replica_id: id, status, status_reason: reason = "" } = replica;
  const isWaiting = status === "PENDING" || status === "PROVISIONING";
  const tell = () =>
    reasonLines(`  replica ${id} ${status}`, isAmiss(replica) || isWaiting ? replica : {});
  if (status !== before?.status) return tell();
  // It may wait for a machine for long.
  if (isWaiting) return reason === before.status_reason ? [] : tell();
  const { hint } = replica;
  if (hint !== undefined && hint !== before.hint) return [`  replica ${id} ${status}: ${hint}`];
  const isMore = isAmiss(replica) && reason.startsWith(`${before.status_reason};`);
  if (!isMore) return [];
  const [, ...printed] = tell();
  return [`  replica ${id} printed ${printed.length > 0 ? "last:" : "the same"}`, ...printed];
}
