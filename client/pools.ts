import { poolOperations } from "../contract/operations/pools.ts";
import type { ServiceStatusRecord } from "../contract/records/services.ts";
import type { Client } from "./sdk.ts";
import type { Kind } from "./selection.ts";

/** The pools that the words name, as they are or as patterns; all when there are no words. */
export async function listPools(
  client: Client,
  names: readonly string[],
): Promise<ServiceStatusRecord[]> {
  const pool_names = names.length > 0 ? [...names] : null;
  return client.callAndGet(poolOperations.status, { pool_names });
}

/** Pools, as command lines name them. */
export const pools: Kind<ServiceStatusRecord> = {
  noun: "pool",
  missing: "NotFoundError",
  lister: "jobs pool status",
  list: listPools,
};
