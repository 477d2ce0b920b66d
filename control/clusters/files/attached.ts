import { fail } from "../../../common/errors.ts";
import { fileOperations, type VolumeSource } from "../../../contract/files-api.ts";
import type { Task } from "../../../contract/task.ts";
import type { Call } from "../../bind.ts";
import type { Agent } from "../../doors/agent.ts";
import type { Ground } from "../../ground.ts";
import type { Volume } from "../../volumes/schema.ts";
import { findVolume, getReadyVolume, noSuchVolume } from "../../volumes/store.ts";
import type { VolumeParcel } from "./parcels.ts";

/** How long a node may take to mount a file system of a server. */
const attachingMs = 2 * 60_000;

/** The volumes that a task attaches. Throws for one that is not there, not the caller's, or not ready. */
export async function attachedBy(
  { db }: Pick<Ground, "db">,
  { volumes }: Pick<Task, "volumes">,
  command: string,
  call: Pick<Call, "workspaces">,
): Promise<VolumeParcel[]> {
  const mounts = Object.entries(volumes).flatMap(([path, mount]) =>
    mount.kind === "named" ? [{ path, ...mount }] : [],
  );
  return Promise.all(
    mounts.map(async ({ path, name, subPath }) => {
      const { id } = await getReadyVolume(db, name, call.workspaces);
      return { name: path, destination: path, volume: { id, name }, subPath, command };
    }),
  );
}

/** How a node attaches a volume. Throws `VolumeNotFoundError` when it was deleted. */
export async function attaching({ db }: Pick<Ground, "db">, parcel: VolumeParcel) {
  const { destination, subPath = "", volume: given } = parcel;
  const volume = await findVolume(db, given.name);
  if (volume?.id !== given.id) return noSuchVolume(given.name);
  const order = { destination, subPath, source: sourceOf(volume) };
  return async (agent: Agent, signal: AbortSignal): Promise<string> => {
    await agent.call(fileOperations.attachVolume, order, { signal, timeoutMs: attachingMs });
    return `volume ${given.name} attached`;
  };
}

function sourceOf({ name, path, document: { config } }: Volume): VolumeSource {
  if (path !== null) return { kind: "folder", path };
  const { server, path: exported, mount_options: options = "" } = config;
  if (server === undefined || exported === undefined)
    fail("VolumeNotReadyError", `volume ${name} has no place`);
  return { kind: "nfs", server, path: exported, options };
}
