import { count } from "../../common/count.ts";
import { fail } from "../../common/errors.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import type { Command } from "../catalog.ts";
import { actOn } from "./lifecycle.ts";

const usualIdleMinutes = 5;
const never = -1;
const whenText = (minutes: number) =>
  minutes === 0 ? "as soon as it is idle" : `after ${count(minutes, "idle minute")}`;

/** `outrigger autostop`. */
export const autostop: Command<"autostop"> = async (world, words, options) => {
  const { cancel = false, down = false, idleMinutes } = options;
  if (cancel && idleMinutes !== undefined) fail("UsageError", "--cancel and -i exclude each other");
  const minutes = cancel ? never : (idleMinutes ?? usualIdleMinutes);
  const what = down ? "autodown" : "autostop";
  await actOn(world, words, options, {
    verb: cancel ? "cancel autostop of" : "set autostop of",
    title: (name) =>
      cancel
        ? `Cancelling autostop of ${name}`
        : `Setting ${what} of ${name}: ${whenText(minutes)}`,
    row: clusterOperations.autostop,
    remark: ({ name, autostop, to_down: toDown }) =>
      cancel || down || !toDown || autostop < 0
        ? undefined
        : `${name} will now be stopped, not deleted, when it is idle; to delete it: outrigger autostop --down -i ${minutes} ${name}`,
    input: (cluster_name) => ({
      cluster_name,
      idle_minutes: minutes,
      down,
      wait_for: options.waitFor ?? null,
    }),
  });
};
