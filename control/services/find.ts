import { fail } from "../../common/errors.ts";
import { listedBy } from "../../contract/spelling.ts";
import { type Identity, seesWorkspace } from "../access/identity.ts";
import { namesThatFit } from "../glob.ts";
import type { Ground } from "../ground.ts";
import type { Service } from "./schema.ts";
import { findLiveService, listLiveServices } from "./store.ts";

/** The live service of this name; throws `NotFoundError`, also for a pool. */
export async function getLiveService(ctx: Ground, name: string): Promise<Service> {
  const service = await findLiveService(ctx.db, name);
  if (service !== undefined && !service.isPool) return service;
  return fail("NotFoundError", `there is no service ${name}; ${listedBy("serve status")}`);
}

/** The live pool of this name; throws `NotFoundError`, also for a service. */
export async function getLivePool(ctx: Ground, name: string): Promise<Service> {
  const pool = await findLiveService(ctx.db, name);
  return pool?.isPool
    ? pool
    : fail("NotFoundError", `there is no pool ${name}; ${listedBy("jobs pool status")}`);
}

/** Which live services are meant; null is all of them. */
export interface Chosen extends Pick<Service, "isPool"> {
  readonly names: string | readonly string[] | null;
}

/** The live services, or pools, that a caller sees and whose names fit, the newest first. */
export async function chooseServices(
  ctx: Ground,
  { names, isPool }: Chosen,
  reader: Pick<Identity, "workspaces">,
): Promise<Service[]> {
  const all = (await listLiveServices(ctx.db)).filter((one) => one.isPool === isPool);
  const seen = all.filter(({ workspace }) => seesWorkspace(reader, workspace));
  if (names === null) return seen;
  const fitting = await namesThatFit(
    [names].flat(),
    seen.map(({ name }) => name),
  );
  return seen.filter(({ name }) => fitting.includes(name));
}
