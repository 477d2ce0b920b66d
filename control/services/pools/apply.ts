import { randomBytes } from "node:crypto";
import { fail } from "../../../common/errors.ts";
import type { InputOf } from "../../../common/operation.ts";
import type { poolOperations as rows } from "../../../contract/operations/pools.ts";
import type { Task } from "../../../contract/task.ts";
import type { Call } from "../../bind.ts";
import { checkManagedFiles } from "../../clusters/managed.ts";
import type { Context } from "../../context.ts";
import type { Connection } from "../../db/open.ts";
import { refuseImpossible } from "../../offers.ts";
import { nudge } from "../../reconciler.ts";
import { readTask, secretsOf } from "../../task.ts";
import { admitService } from "../../workspaces/admit.ts";
import { getLivePool } from "../find.ts";
import { withoutKeys } from "../keys.ts";
import { listReplicas, setVersionOfLive } from "../replicas/store.ts";
import { refuseLeaving, type Service, type VersionTask } from "../schema.ts";
import {
  addService,
  addVersion,
  findLiveService,
  getService,
  listVersions,
  setVersion,
} from "../store.ts";
import { checkName, firstVersion, newService } from "../up.ts";
import { addNext } from "../update.ts";
import { versionTaskOf } from "../versions/files.ts";
import {
  asPool,
  leastUse,
  openVersion,
  readPoolTaskAndRemarks,
  readVersion,
  type ServiceTask,
  wholeTask,
} from "../versions/task.ts";

type Input = InputOf<typeof rows.apply>;

/** What a pool is to be from now on. */
interface Given {
  readonly open: ServiceTask;
  readonly task: VersionTask;
}

/** Creates a pool, gives one another task, or has it have more or fewer workers. */
export async function apply(ctx: Context, input: Input, call: Call): Promise<null> {
  // A second attempt at the same request finds what the first one wrote.
  if (call.progress.serviceId !== undefined) return null;
  for (;;)
    try {
      return await applyTo(ctx, await findLiveService(ctx.db, input.pool_name), input, call);
    } catch (error) {
      if (error !== outdated) throw error;
    }
}

/** A new size is one for the task that its pool has: another one may have been applied meanwhile. */
const outdated = new Error("the task of the pool has changed meanwhile");

async function applyTo(
  ctx: Context,
  live: Service | undefined,
  input: Input,
  call: Call,
): Promise<null> {
  const { pool_name: name, task: yaml } = input;
  if (live !== undefined && !live.isPool)
    fail("ConflictError", `there is a service ${name}; choose another name for the pool`);
  const workspace = live?.workspace ?? call.workspace;
  const given =
    yaml === null
      ? await resized(ctx, await getLivePool(ctx, name), input.workers ?? 0)
      : await read(ctx, { ...input, task: await wholeTask(ctx, workspace, yaml, call) }, call);
  const offer = await refuseImpossible(ctx, given.open.task, workspace, call.signal);
  const asked = leastUse(given.open, offer);
  const id = live?.id ?? randomBytes(6).toString("hex");
  let told = "";
  await call.remember({ serviceId: id }, async (tx) => {
    if (yaml === null && (await getService(tx, id)).version !== live?.version) throw outdated;
    const replicas = await listReplicas(tx, id);
    const clusterIds = replicas.map(({ clusterId }) => clusterId ?? "");
    await admitService(ctx, tx, { workspace, asked, clusterIds }, call);
    told =
      live === undefined
        ? await create(ctx, tx, { id, name, given }, call)
        : await change(ctx, tx, live, { ...given, mode: input.mode }, call);
  });
  call.print(`Pool ${name}: ${told}\n`);
  void nudge(ctx, "service", id);
  return null;
}

/** What the row's shapes cannot say of a pool. */
export function checkApply({ pool_name: name, task, workers }: Input): void {
  checkName(name, "pool");
  if ((task === null) === (workers === null))
    fail("ValueError", "give either a task, or how many workers the pool is to have");
  if (workers !== null && workers < 0)
    fail("ValueError", "a pool cannot have fewer than 0 workers");
  if (task !== null) checkManagedFiles(asPool(readTask(task, "jobs.pool_apply")).task);
}

async function read(ctx: Context, input: Input, call: Call): Promise<Given> {
  const yaml = input.task ?? "";
  const [open, remarks] = await readPoolTaskAndRemarks(ctx, yaml, "jobs.pool_apply");
  call.print(remarks);
  return { open, task: await versionTaskOf(ctx, { ...input, task: yaml }, open, call) };
}

/** The same with so many workers, neither more nor fewer. */
async function resized(ctx: Context, { id, version }: Service, workers: number): Promise<Given> {
  const { task, spec: _, ...stored } = await openVersion(ctx, { serviceId: id, version });
  return { open: asPool(task, workers), task: { ...stored, workers } };
}

interface NewPool extends Pick<Service, "id" | "name"> {
  readonly given: Given;
}

async function create(
  ctx: Context,
  tx: Connection,
  { id, name, given: { open, task } }: NewPool,
  call: Call,
): Promise<string> {
  const pool = newService(ctx, { id, name, isPool: true, host: "", port: 0 }, open, call);
  if (!(await addService(tx, pool)))
    fail("ConflictError", `there is a pool or a service ${name} by now`);
  await addVersion(tx, ctx.seal, firstVersion(ctx, id, open, call), task);
  return `version 1 is being brought up, ${pool.scaling.reason}`;
}

/** Where the workers would be the same, those that are there stay. */
async function change(
  ctx: Context,
  tx: Connection,
  { id: serviceId }: Service,
  { open, task, mode }: Given & Pick<Input, "mode">,
  call: Call,
): Promise<string> {
  const before = await getService(tx, serviceId);
  refuseLeaving(before);
  const old = await readVersion(tx, ctx.seal, { serviceId, version: before.version });
  const next = {
    command: withoutKeys(call.command, open),
    mode,
    because: `apply by ${call.user.name}`,
  };
  const reason = await addNext(ctx, tx, before, next, task);
  if (workOf(old.task, old.blobId) !== workOf(open.task, task.blobId)) return `goes to ${reason}`;
  const [from, to] = [before.version, before.version + 1];
  await setVersionOfLive(tx, serviceId, from, to);
  const readyAt = (await listVersions(tx, serviceId)).find(
    ({ version }) => version === from,
  )?.readyAt;
  await setVersion(tx, { serviceId, version: to }, { readyAt: readyAt ?? null });
  return `${reason}; its workers stay`;
}

/** What makes workers what they are. */
const workOf = (task: Task, blobId: string | null): string =>
  JSON.stringify({ ...task, pool: undefined, secrets: secretsOf(task), blobId });
