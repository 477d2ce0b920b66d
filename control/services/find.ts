import { fail } from "../../common/errors.ts";
import { type Identity, seesWorkspace } from "../access/identity.ts";
import { fitsGlob } from "../glob.ts";
import type { Ground } from "../ground.ts";
import type { Service } from "./schema.ts";
import { findLiveService, listLiveServices } from "./store.ts";

/** The live service of this name; throws `NotFoundError`. */
export async function getLiveService(ctx: Ground, name: string): Promise<Service> {
  const service = await findLiveService(ctx.db, name);
  return service ?? fail("NotFoundError", `there is no service ${name}; serve status lists them`);
}

/** The live services that a caller sees and whose names fit, the newest first; null is all of them. */
export async function chooseServices(
  ctx: Ground,
  names: string | readonly string[] | null,
  reader: Pick<Identity, "workspaces">,
): Promise<Service[]> {
  const globs = names === null ? null : [names].flat();
  const all = await listLiveServices(ctx.db);
  const seen = all.filter(({ workspace }) => seesWorkspace(reader, workspace));
  return seen.filter(({ name }) => globs?.some((glob) => fitsGlob(glob, name)) ?? true);
}
