import { fail, toAppError } from "../../../common/errors.ts";
import type { Seal } from "../../../common/seal.ts";
import type { Service as ServiceSpec } from "../../../contract/task/service.ts";
import type { Task } from "../../../contract/task.ts";
import type { Call } from "../../bind.ts";
import type { Context } from "../../context.ts";
import type { Queries } from "../../db/open.ts";
import type { Offer } from "../../providers/provider.ts";
import { withStoredSecrets } from "../../secrets/fill.ts";
import { readTask, readTaskAndRemarks } from "../../task.ts";
import { withVolumes } from "../../volumes/place.ts";
import { withDefaults } from "../../workspaces/defaults.ts";
import type { Use } from "../../workspaces/schema.ts";
import { useOf } from "../../workspaces/use-store.ts";
import type { Version, VersionTask } from "../schema.ts";
import { readVersionTask } from "../store.ts";

/** What a version of a service runs, readable: it holds secrets. */
export interface OpenVersion extends VersionTask {
  readonly task: Task;
  readonly spec: ServiceSpec;
}

/** The task of a service or a pool, and what it says of that. */
export type ServiceTask = Pick<OpenVersion, "task" | "spec">;

/** A task with what its workspace gives to tasks, and the stored secrets and volumes that it names. */
export async function wholeTask(
  ctx: Context,
  workspace: string,
  yaml: string,
  call: Call,
): Promise<string> {
  const whole = await withDefaults(ctx, workspace, yaml);
  const filled = await withStoredSecrets(ctx, whole, { user: call.user, workspace });
  return withVolumes(ctx, filled, call);
}

type Key = Pick<Version, "serviceId" | "version">;

/** Versions never change, so each is opened once. */
const opened = new WeakMap<Context, Map<string, OpenVersion>>();
const openedAtMost = 1_000;

/** What a version runs; throws `NotFoundError`. */
export async function openVersion(ctx: Context, key: Key): Promise<OpenVersion> {
  const known = opened.get(ctx) ?? new Map<string, OpenVersion>();
  opened.set(ctx, known);
  const name = `${key.serviceId}/${key.version}`;
  const found = known.get(name);
  if (found !== undefined) return found;
  const version = await readVersion(ctx.db, ctx.seal, key);
  if (known.size >= openedAtMost) known.clear();
  known.set(name, version);
  return version;
}

/** As `openVersion`, in a transaction, which may have written the version itself. */
export async function readVersion(db: Queries, seal: Seal, key: Key): Promise<OpenVersion> {
  const stored = await readVersionTask(db, seal, key);
  return { ...stored, ...asStored(readTask(stored.yaml, "serve.up"), stored) };
}

/**
 * As `openVersion`, for whoever shows a service or takes it down: one that cannot be read any more, as this
 * build refuses what an earlier one took, or its key is lost, stands for no task, and says why.
 */
export async function openReadable(ctx: Context, key: Key): Promise<OpenVersion> {
  try {
    return await openVersion(ctx, key);
  } catch (error) {
    const yaml = `# ${toAppError(error).message.replaceAll("\n", "\n# ")}\n`;
    return { yaml, blobId: null, tls: null, ...unserved() };
  }
}

/** The task of a service; throws `InvalidTaskError`, or `ValueError` when it is none, or starts no server. */
export const readServiceTask = (yaml: string, operation: string): ServiceTask =>
  asService(readTask(yaml, operation));

/** Reads a task as `as` does, with the remarks on its document; it makes use of these sections. */
const readerWithRemarks =
  (as: (task: Task) => ServiceTask, ...sections: readonly string[]) =>
  async (
    ctx: Context,
    yaml: string,
    operation: string,
  ): Promise<[open: ServiceTask, remarks: string]> => {
    const [task, remarks] = await readTaskAndRemarks(ctx, yaml, operation, sections);
    return [as(task), remarks];
  };

/** As `readServiceTask`, with the remarks on its document. */
export const readServiceTaskAndRemarks = readerWithRemarks((task) => asService(task), "service");

/** As `readServiceTaskAndRemarks`, of a pool. */
export const readPoolTaskAndRemarks = readerWithRemarks((task) => asPool(task), "pool", "service");

const asStored = (task: Task, { workers }: VersionTask): ServiceTask =>
  task.pool === undefined ? asService(task) : asPool(task, workers);

/**
 * A pool as the service that it is: its workers are scaled, replaced and updated as replicas are, and do their
 * setup alone. Nothing of it is probed or balanced. Throws `ValueError` for a task that is none.
 */
export function asPool(task: Task, workers?: number): ServiceTask {
  if (task.pool === undefined)
    return fail("ValueError", "the task has no `pool` section; see docs/task.md");
  const { minWorkers, maxWorkers, queueLengthThreshold: queueLength, ...delays } = task.pool;
  const bounds = { min: workers ?? minWorkers, max: workers ?? maxWorkers };
  const { spec } = unserved();
  const replicas = { ...spec.replicas, ...bounds, ...delays, queueLength };
  return { task: { ...task, run: "true" }, spec: { ...spec, replicas } };
}

/** What is there to serve where there is nothing. */
const unserved = (): ServiceTask =>
  readServiceTask("{service: {readiness_probe: /, ports: 1}, run: nothing}", "serve.status");

function asService(task: Task): ServiceTask {
  if (task.service === undefined)
    fail("ValueError", "the task has no `service` section; see docs/task.md");
  if (!task.run?.trim())
    fail("ValueError", "the task has no `run`; write there what starts the server on $PORT");
  return { task, spec: task.service };
}

/** What the fewest replicas of a service that serves use, each on a machine of this offer, if there is one. */
export function leastUse({ task, spec }: Pick<OpenVersion, "task" | "spec">, offer?: Offer): Use {
  const { min, max } = spec.replicas;
  const count = Math.min(Math.max(min, 1), max);
  return useOf(
    { nodes: task.nodes, offer: offer ?? { accelerators: null, dollarsPerHour: 0 } },
    count,
  );
}
