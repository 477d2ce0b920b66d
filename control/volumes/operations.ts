import { randomUUID } from "node:crypto";
import { AppError, fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { openTurnsByKey } from "../../common/turns.ts";
import { requestOperations } from "../../contract/operations/requests.ts";
import { volumeOperations as rows } from "../../contract/operations/volumes.ts";
import { readVolume, type VolumeDocument, volumeTypes } from "../../contract/volume.ts";
import { seesWorkspace } from "../access/identity.ts";
import { type Bound, bind, type Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { mapInBatches } from "../map-in-batches.ts";
import { policyOf, requireInfra } from "../workspaces/schema.ts";
import { inContext } from "./claims.ts";
import { findProblem, removeFolder, takeFolder } from "./folders.ts";
import { refuseOverlap } from "./overlap.ts";
import { toRecord, type Volume } from "./schema.ts";
import {
  addVolume,
  deleteVolume,
  findVolume,
  listUsers,
  listVolumes,
  noSuchVolume,
  setVolume,
} from "./store.ts";
import { listWanting } from "./wanted-by.ts";

/** Volumes that tasks attach. */
export const volumeOperations: Bound[] = [
  bind(rows.list, list),
  bind(rows.validate, async (_ctx, input) => {
    readVolume(fieldsOf(input, input.infra));
    return null;
  }),
  bind(rows.apply, apply, (input) => void readApplied(input)),
  bind(rows.delete, async (ctx, { names, purge }, call) => {
    for (const name of names) await inTurn(name, () => remove(ctx, name, purge, call));
    return null;
  }),
  bind(requestOperations.completeVolumeName, async ({ db }, { incomplete }, { workspaces }) =>
    (await listVolumes(db, workspaces))
      .map(({ name }) => name)
      .filter((name) => name.startsWith(incomplete)),
  ),
];

async function list(ctx: Context, { refresh, names }: InputOf<typeof rows.list>, call: Call) {
  const all = await listVolumes(ctx.db, call.workspaces);
  const wanted = all.filter(({ name }) => names === null || names.includes(name));
  const volumes = refresh ? await refreshed(ctx, wanted, call) : wanted;
  const users = await listUsers(
    ctx.db,
    volumes.map(({ id }) => id),
  );
  return volumes.map((volume) => toRecord(volume, users.get(volume.id) ?? []));
}

/** Looks whether each is there, and writes down what was found. */
async function refreshed(ctx: Context, volumes: readonly Volume[], { signal }: Call) {
  const looked = await mapInBatches(volumes, async (volume) =>
    volume.problem === deleting
      ? volume
      : { ...volume, problem: await findProblem(ctx, volume, signal) },
  );
  await ctx.batch(async (tx) => {
    for (const [at, { problem }] of looked.entries()) {
      const before = volumes[at];
      if (before !== undefined && problem !== before.problem)
        await setVolume(tx, before, { problem });
    }
  });
  return looked;
}

type Applied = InputOf<typeof rows.apply>;
type Described = Omit<InputOf<typeof rows.validate>, "infra" | "name"> & { name: string | null };

/** The fields of a document, without those that were left out. */
function fieldsOf(given: Described, infra: string | null): unknown {
  const { name, volume_type: type, size, labels, config, use_existing } = given;
  const fields = { name, type, infra, size, labels, config, use_existing };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** Throws `ValueError`, and `NotSupportedError` for a volume that nothing here could make. */
function readApplied(input: Applied): VolumeDocument {
  const infra = [input.cloud, input.region, input.zone].filter(Boolean).join("/");
  const document = readVolume(fieldsOf(input, infra || null));
  const { isHere, means } = volumeTypes[document.type];
  const here = Object.entries(volumeTypes).flatMap(([type, one]) => (one.isHere ? [type] : []));
  if (!isHere)
    fail(
      "NotSupportedError",
      `${document.type} is ${means}, and this control plane has no such provider; it makes volumes of the types ${here.join(", ")}`,
    );
  return document;
}

const making = "it is being made";
const deleting = "it is being deleted";

async function apply(ctx: Context, input: Applied, call: Call): Promise<null> {
  const given = readApplied(input);
  const document = given.type === "k8s-pvc" ? await inContext(ctx, given) : given;
  const { name, type, infra = "" } = document;
  const { document: configuration } = await ctx.configurations.current();
  // Of an export nothing is made, and the launches that mount it are looked at then.
  if (type !== "nfs") requireInfra(policyOf(configuration, call.workspace), infra);
  const fresh: Volume = {
    ...{ name, id: randomUUID(), document, yaml: input.creation_yaml },
    ...{ workspace: call.workspace, user: { id: call.user.id, name: call.user.name } },
    ...{ path: null, problem: making, createdAt: ctx.now().getTime() },
    ...{ lastAttachedAt: null, lastUse: null },
  };
  await ctx.batch((tx) => addVolume(tx, fresh));
  const volume = (await findVolume(ctx.db, name)) ?? fresh;
  if (!seesWorkspace(call, volume.workspace)) noSuchVolume(name);
  if (JSON.stringify(volume.document) !== JSON.stringify(document))
    fail("ConflictError", `there is a volume ${name} with other settings; delete it first`);
  if (volume.problem === deleting) fail("ConflictError", `volume ${name}: ${deleting}`);
  if (volume.problem === null) call.print(`Volume ${name} is there already.\n`);
  else await make(ctx, volume, call);
  if (document.size !== undefined && type !== "k8s-pvc")
    call.print("no effect here: size (volumes of this type have no limit)\n");
  return null;
}

/** Repeated after it broke off, it makes the same folder. */
async function make(ctx: Context, volume: Volume, { signal }: Call): Promise<void> {
  const { host_path: asked } = volume.document.config;
  try {
    if (asked !== undefined) await refuseOverlap(ctx, ctx.db, volume, asked);
    const isThere = volume.path !== null && (await findProblem(ctx, volume, signal)) === null;
    const path = isThere ? volume.path : await takeFolder(ctx, volume, signal);
    await ctx.batch(async (tx) => {
      // Links may have led elsewhere, and another volume may be there by now.
      if (path !== null) await refuseOverlap(ctx, tx, volume, path);
      if (!(await setVolume(tx, volume, { path, problem: null })))
        fail("ConflictError", `volume ${volume.name} was changed meanwhile; apply it again`);
    });
  } catch (error) {
    // What was never there leaves nothing behind.
    const { id } = volume;
    if (!signal.aborted)
      await ctx.batch((tx) => deleteVolume(tx, { id, path: null, problem: making }));
    throw error;
  }
}

/** A second deletion that came late could delete what a new volume of the name has. */
const inTurn = openTurnsByKey<string>();

/** No task can attach it while its folder is deleted; it goes once that is gone. */
async function remove(ctx: Context, name: string, purge: boolean, call: Call): Promise<void> {
  const { volume, users } = await beginRemoval(ctx, name, purge, call);
  const seen = { id: volume.id, problem: deleting };
  try {
    if (users.length > 0) fail("ConflictError", `${name} is in use by ${users.join(", ")}`);
    await removeFolder(ctx, volume, call.signal);
  } catch (error) {
    if (!(error instanceof AppError) || call.signal.aborted) throw error;
    if (!purge) {
      await ctx.batch((tx) => setVolume(tx, seen, { problem: error.message }));
      throw error;
    }
    call.print(`${error.message}: the volume is forgotten, and what is in it stays\n`);
  }
  await ctx.batch((tx) => deleteVolume(tx, seen));
}

/** The volume, which is being deleted from now on, and what uses it; throws where that forbids it. */
async function beginRemoval(ctx: Context, name: string, purge: boolean, call: Call) {
  const wanting = await listWanting(ctx, name);
  return ctx.batch(async (tx) => {
    const volume = await findVolume(tx, name);
    if (volume === undefined || !seesWorkspace(call, volume.workspace)) return noSuchVolume(name);
    const clusters = (await listUsers(tx, [volume.id])).get(volume.id) ?? [];
    const users = [...clusters, ...wanting];
    if (users.length > 0 && !purge)
      fail(
        "ConflictError",
        `volume ${name} is in use by ${users.join(", ")}; take them down first`,
      );
    await setVolume(tx, volume, { problem: deleting });
    return { volume, users };
  });
}
