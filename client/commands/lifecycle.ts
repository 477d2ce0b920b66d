import { fail } from "../../common/errors.ts";
import type { GivenInputOf } from "../../common/operation.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import type { ClusterStatusRecord } from "../../contract/records/clusters.ts";
import type { Command, OptionsOf } from "../catalog.ts";
import { type Purpose, type SelectionOptions, selectClusters } from "../selection.ts";
import { updateSshConfig } from "../ssh-config.ts";
import type { World } from "../world.ts";
import { carryOutAll } from "./carry-out.ts";
import { isUnderWay } from "./in-progress.ts";

type Words = readonly string[];

/** `outrigger stop`. */
export const stop: Command<"stop"> = async (world, words, options) => {
  await actOn(world, words, options, {
    verb: "stop",
    warning: (row) => warningOfJobs(world, row),
    title: (name) => `Stopping ${name}`,
    reaches: "STOPPED",
    row: clusterOperations.stop,
    input: (cluster_name) => ({ cluster_name, ...howOf(options) }),
  });
};

/** `outrigger down`. */
export const down: Command<"down"> = async (world, words, options) => {
  await actOn(world, words, options, {
    verb: "tear down",
    isFinal: true,
    warning: (row) => warningOfDown(row) ?? warningOfJobs(world, row),
    title: (name) => `Tearing down ${name}`,
    row: clusterOperations.down,
    input: (cluster_name) => ({ cluster_name, ...howOf(options) }),
  });
};

/** Which jobs end with a cluster; nothing where that is not known. */
async function warningOfJobs(world: World, { name, status }: ClusterStatusRecord) {
  if (status !== "UP") return undefined;
  const client = await world.connect();
  const asked = { cluster_name: name, skip_finished: true, all_users: true };
  const jobs = await client.callAndGet(clusterOperations.queue, asked).catch(() => []);
  if (jobs.length === 0) return undefined;
  const ids = jobs.map(({ job_id: id }) => id).toSorted((a, b) => a - b);
  const [noun, verb] = ids.length === 1 ? ["Job", "has"] : ["Jobs", "have"];
  return `${noun} ${ids.join(", ")} of ${name} ${verb} not ended, and will be cancelled.`;
}

/** Hooks run on nodes; those of a cluster that is stopped are off. */
function warningOfDown({ name, status, hooks }: ClusterStatusRecord): string | undefined {
  const isLoss = status === "STOPPED" && hooks?.some(({ events }) => events.includes("down"));
  if (!isLoss) return undefined;
  return `${name} is STOPPED: its hooks for down will not run, unless you start it first: outrigger start ${name}`;
}

const howOf = ({ purge = false, skipHooks = false }: OptionsOf<"stop">) => ({
  purge,
  skip_hooks: skipHooks,
});

/** `outrigger start`. */
export const start: Command<"start"> = async (world, words, options) => {
  if (options.down && options.idleMinutesToAutostop === undefined)
    fail("UsageError", "--down needs -i: after how many idle minutes?");
  await actOn(world, words, options, {
    verb: "start",
    title: (name) => `Starting ${name}`,
    reaches: "UP",
    row: clusterOperations.start,
    input: (cluster_name) => ({
      cluster_name,
      idle_minutes_to_autostop: options.idleMinutesToAutostop ?? null,
      wait_for: options.waitFor ?? null,
      retry_until_up: options.retryUntilUp ?? false,
      down: options.down ?? false,
      force: options.force ?? false,
    }),
  });
};

type Row = (typeof clusterOperations)["start" | "stop" | "down" | "autostop"];

interface Act<Op extends Row> extends Purpose<ClusterStatusRecord> {
  readonly title: (name: string) => string;
  /** The status it leads to; of a cluster that was there before, and about to stay, that is said. */
  readonly reaches?: ClusterStatusRecord["status"];
  readonly row: Op;
  readonly input: (name: string) => GivenInputOf<Op>;
  /** What to say once it is done, for a cluster as it was before. */
  readonly remark?: (row: ClusterStatusRecord) => string | undefined;
}

/** Picks the clusters, asks, and has the same thing done to all of them at once. */
export async function actOn<Op extends Row>(
  world: World,
  words: Words,
  options: SelectionOptions & { readonly async?: boolean },
  { title, reaches, row, input, remark, ...purpose }: Act<Op>,
): Promise<void> {
  const { async: later = false } = options;
  const clusters = await selectClusters(world, purpose, words, options);
  const submissions = clusters.map((cluster) => {
    const { name, status, lifecycle } = cluster;
    const needless = status === reaches && !isUnderWay({ lifecycle });
    return {
      ...{ name, title: title(name), input: input(name), needless },
      done() {
        const said = needless ? `${name} is ${status} already` : remark?.(cluster);
        if (said !== undefined) world.terminal.note(said);
      },
    };
  });
  await carryOutAll(world, row, submissions, { later });
  if (!later)
    await updateSshConfig(
      world,
      clusters.map(({ name }) => name),
    );
}
