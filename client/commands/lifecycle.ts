import { fail } from "../../common/errors.ts";
import type { GivenInputOf } from "../../common/operation.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import type { ClusterStatusRecord } from "../../contract/records/clusters.ts";
import { type Deed, forEach, type SelectionOptions, selectClusters } from "../selection.ts";
import type { World } from "../world.ts";
import { carryOut } from "./following.ts";

interface EndOptions extends SelectionOptions {
  readonly purge?: boolean;
  readonly async?: boolean;
}

interface StartOptions extends SelectionOptions {
  readonly idleMinutesToAutostop?: number;
  readonly waitFor?: "jobs_and_ssh" | "jobs" | "none";
  readonly retryUntilUp?: boolean;
  readonly down?: boolean;
  readonly force?: boolean;
  readonly async?: boolean;
}

type Words = readonly string[];

/** `outrigger stop`. */
export async function stop(world: World, words: Words, options: EndOptions): Promise<undefined> {
  await actOn(world, words, options, {
    verb: "stop",
    title: (name) => `Stopping ${name}`,
    reaches: "STOPPED",
    row: clusterOperations.stop,
    input: (cluster_name) => ({ cluster_name, purge: options.purge ?? false }),
  });
}

/** `outrigger down`. */
export async function down(world: World, words: Words, options: EndOptions): Promise<undefined> {
  await actOn(world, words, options, {
    verb: "tear down",
    isFinal: true,
    title: (name) => `Tearing down ${name}`,
    row: clusterOperations.down,
    input: (cluster_name) => ({ cluster_name, purge: options.purge ?? false }),
  });
}

/** `outrigger start`. */
export async function start(world: World, words: Words, options: StartOptions): Promise<undefined> {
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
}

type Row = (typeof clusterOperations)["start" | "stop" | "down" | "autostop"];

interface Act<Op extends Row> extends Deed {
  readonly title: (name: string) => string;
  /** The status it leads to; of a cluster that was there before, that is what is said. */
  readonly reaches?: ClusterStatusRecord["status"];
  readonly row: Op;
  readonly input: (name: string) => GivenInputOf<Op>;
}

/** Picks the clusters, asks, and does the same thing to each. */
export async function actOn<Op extends Row>(
  world: World,
  words: Words,
  options: SelectionOptions & { readonly async?: boolean },
  { title, reaches, row, input, ...deed }: Act<Op>,
): Promise<void> {
  const { async: later = false } = options;
  const clusters = await selectClusters(world, deed, words, options);
  await forEach(world, clusters, async ({ name, status }) => {
    await carryOut(world, row, input(name), { title: title(name), later });
    if (status === reaches && !later) world.terminal.note(`${name} is ${status} already`);
  });
}
