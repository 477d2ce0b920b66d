import { poolOperations } from "../contract/operations/pools.ts";
import { serveOperations } from "../contract/operations/serve.ts";
import type { ServiceStatusRecord } from "../contract/records/services.ts";
import type { Client } from "./sdk.ts";
import type { Kind } from "./selection.ts";

/** A service, or a pool, which is one without an address. */
export type ServiceKind = Kind<ServiceStatusRecord>;

/** The services that the words name; all when there are no words. */
export const listServices = (
  client: Client,
  names: readonly string[],
): Promise<ServiceStatusRecord[]> =>
  client.callAndGet(serveOperations.status, {
    service_names: names.length > 0 ? [...names] : null,
  });

/** Services, as command lines name them. */
export const services: ServiceKind = {
  noun: "service",
  missing: "NotFoundError",
  lister: "serve status",
  list: listServices,
};

/** Pools, as command lines name them. */
export const pools: ServiceKind = {
  noun: "pool",
  missing: "NotFoundError",
  lister: "jobs pool status",
  list: (client, names) =>
    client.callAndGet(poolOperations.status, { pool_names: names.length > 0 ? [...names] : null }),
};
