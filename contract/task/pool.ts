import { child, gives, type Place, refuse, warn } from "./place.ts";
import { fields, integer, machines, number } from "./readers.ts";
import type { Resources } from "./resources.ts";

/** Clusters that are kept warm for managed jobs. */
export interface Pool {
  readonly minWorkers: number;
  readonly maxWorkers: number;
  /** So many waiting jobs ask for one more worker. */
  readonly queueLengthThreshold: number;
  readonly upscaleDelaySeconds: number;
  readonly downscaleDelaySeconds: number;
}

const count = machines(0);
const delay = number({ min: 0 });

export const poolSettings = fields({
  workers: count,
  min_workers: count,
  max_workers: count,
  queue_length_threshold: integer({ min: 1 }),
  upscale_delay_seconds: delay,
  downscale_delay_seconds: delay,
});

/** Reads `pool`; `task` is the place of the whole task. */
export function readPool(task: Place, place: Place, resources: Resources): Pool {
  const given = poolSettings(place) ?? {};
  checkWorkers(place, given.min_workers, given.max_workers);
  checkTask(task, resources);
  const minWorkers = given.min_workers ?? given.workers ?? 0;
  return {
    minWorkers,
    maxWorkers: given.max_workers ?? minWorkers,
    queueLengthThreshold: given.queue_length_threshold ?? 1,
    upscaleDelaySeconds: given.upscale_delay_seconds ?? 300,
    downscaleDelaySeconds: given.downscale_delay_seconds ?? 1200,
  };
}

const scalingFields = [
  "min_workers",
  "queue_length_threshold",
  "upscale_delay_seconds",
  "downscale_delay_seconds",
];

function checkWorkers(place: Place, min: number | undefined, max: number | undefined): void {
  const given = ["workers", "min_workers", "max_workers"].filter((field) => gives(place, field));
  if (given.length === 0)
    refuse(place, "needs `workers`, or `min_workers` and `max_workers`", "missing");
  if (given.includes("workers") && given.length > 1)
    refuse(child(place, "workers"), "cannot be combined with `min_workers` and `max_workers`");
  if (min !== undefined && max !== undefined && min > max)
    refuse(child(place, "min_workers"), `must not exceed \`max_workers\`, which is ${max}`);
  for (const field of scalingFields)
    if (gives(place, field) && !gives(place, "max_workers"))
      refuse(child(place, field), "needs `max_workers`");
}

function checkTask(task: Place, resources: Resources): void {
  const section = child(task, "resources");
  if (resources.candidates.some(({ ports }) => ports.length > 0))
    refuse(child(section, "ports"), "cannot be opened by a pool; leave it out");
  if (gives(section, "ordered"))
    refuse(child(section, "ordered"), "cannot be used by a pool; write `any_of`");
  if (gives(task, "run"))
    warn(child(task, "run"), "is ignored; workers of a pool run the setup only");
}
