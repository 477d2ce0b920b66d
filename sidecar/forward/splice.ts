import type { Caller, Engine } from "./front.ts";
import { Pool } from "./pool.ts";
import type { Address } from "./route.ts";

/**
 * The engine of our own: bytes go from socket to socket, over connections that are used again.
 * Nothing is kept of a request but its head, until its answer begins.
 */
export function openSplice(): Engine {
  const pools = new WeakMap<Address, Pool>();
  /** Those with connections that no client's request looks after. */
  const watched = new Set<Pool>();
  const open = (to: Address): Pool => {
    const pool = new Pool(to, () => watched.add(pool));
    pools.set(to, pool);
    return pool;
  };
  return {
    begin: (client: Caller, to) => (pools.get(to) ?? open(to)).begin(client),
    sweep(nowMs) {
      for (const pool of watched) if (pool.sweep(nowMs)) watched.delete(pool);
    },
    close() {
      for (const pool of watched) pool.close();
    },
  };
}
