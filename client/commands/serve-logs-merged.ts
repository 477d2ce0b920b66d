import { AppError, fail } from "../../common/errors.ts";
import { serveOperations } from "../../contract/operations/serve.ts";
import type { ReplicaInfo } from "../../contract/records/services.ts";
import { openAlarm } from "../alarm.ts";
import { interruptedExit } from "../declined.ts";
import { openLogSink } from "../log-lines.ts";
import { requireAll } from "../selection.ts";
import { listServices, services } from "../services.ts";
import type { World } from "../world.ts";

export interface MergedChoice {
  readonly follow: boolean;
  readonly tail: number | null;
  readonly grep: RegExp | undefined;
  /** Unix seconds. */
  readonly since: number | null;
  readonly timestamps: boolean;
}

/** Each is a connection of its own. */
const replicasAtMost = 32;
const pauseMs = 3_000;

/**
 * Shows the logs of all replicas of a service, each line after its replica's number; while it follows, also of
 * those that are added, until there is no service any more.
 */
export async function showMerged(
  world: World,
  name: string,
  choice: MergedChoice,
): Promise<number> {
  const client = await world.connect();
  const following = new Map<number, Promise<void>>();
  using alarm = openAlarm(client, { name }, world.signal);
  try {
    for (let isFirst = true; ; isFirst = false) {
      const found = await listServices(client, [name]);
      if (isFirst) await requireAll(world, [name], found, services);
      const [service] = found;
      const started = service?.replica_info.filter(hasLog) ?? [];
      for (const replica of started.filter(({ replica_id: id }) => !following.has(id)))
        add(world, name, replica, choice, following);
      if (service === undefined || !choice.follow) break;
      await alarm.wait(pauseMs);
    }
    await Promise.all(following.values());
    if (following.size === 0) world.terminal.note(`No replica of ${name} has a log yet.`);
    return 0;
  } catch (error) {
    if (!world.signal.aborted) throw error;
    return interruptedExit;
  }
}

const hasLog = ({ status }: ReplicaInfo) => status !== "PENDING" && status !== "PROVISIONING";

function add(
  world: World,
  name: string,
  { replica_id: id }: ReplicaInfo,
  choice: MergedChoice,
  following: Map<number, Promise<void>>,
): void {
  if (following.size === replicasAtMost)
    fail("UsageError", `${name} has more than ${replicasAtMost} replicas; name one`);
  // What goes wrong with one leaves the others alone.
  const shown = showOne(world, name, id, choice).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
    world.terminal.warn(`replica ${id}: ${error.message}`);
  });
  shown.catch(() => {});
  following.set(id, shown);
}

async function showOne(
  world: World,
  service: string,
  replica: number,
  { follow, tail, grep, since, timestamps }: MergedChoice,
): Promise<void> {
  const client = await world.connect();
  const sink = openLogSink(world, {
    ...{ grep, timestamps },
    of: { service, replica },
    prefix: `${world.terminal.paint("dim", `replica ${replica} |`)} `,
  });
  const part = { target: "replica", replica_id: replica } as const;
  const input = {
    service_name: service,
    ...part,
    follow,
    tail,
    since,
    timestamps: timestamps || world.json,
  };
  await client.logs(serveOperations.logs, input, sink).finally(sink.end);
}
