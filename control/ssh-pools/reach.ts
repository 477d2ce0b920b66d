import { fail } from "../../common/errors.ts";
import type { Seal } from "../../common/seal.ts";
import type { Batch } from "../db/batch.ts";
import type { Queries } from "../db/open.ts";
import type { Bundles } from "../doors/ssh/bundles.ts";
import { openSshConnections, type SshConnections } from "../doors/ssh/connections.ts";
import { type Forwards, openForwards } from "../doors/ssh/forwards.ts";
import type { SshTarget } from "../doors/ssh/target.ts";
import { entriesOf, type HostEntry } from "./document.ts";
import type { HostRef } from "./schema.ts";
import { addHostKey, findHostKey, findPool } from "./store.ts";
import { type Keyring, resolveTarget } from "./target.ts";

/** The ways to hosts, and what they get from us. */
export interface SshReach {
  /** Tells the hosts of this control plane from those of others; it outlives the database. */
  readonly controlId: string;
  readonly connections: SshConnections;
  readonly bundles: Bundles;
  readonly forwards: Forwards;
  /** How to log in on a host; throws `NotFoundError`, or `ConfigError` when its key is missing. */
  targetOf(host: HostRef): Promise<SshTarget>;
  /** How to log in as an entry says; throws as `targetOf`. */
  resolve(entry: HostEntry): Promise<SshTarget>;
  /** Reads how to log in anew: a pool or a key was changed. */
  forget(): void;
}

export interface ReachOptions {
  readonly controlId: string;
  readonly db: Queries;
  readonly batch: Batch;
  readonly seal: Seal;
  readonly keyring: Keyring;
  readonly bundles: Bundles;
  now(): Date;
}

/** Reaches nothing yet. */
export function openReach({
  controlId,
  db,
  batch,
  seal,
  keyring,
  bundles,
  now,
}: ReachOptions): SshReach {
  const targets = new Map<string, Promise<SshTarget>>();

  const resolve = (entry: HostEntry) => resolveTarget(entry, keyring);

  async function find({ pool, name }: HostRef): Promise<SshTarget> {
    const config = await findPool(db, seal, pool);
    const entry = config && entriesOf(config).find((one) => one.name === name);
    if (entry === undefined) fail("NotFoundError", `the pool ${pool} has no host ${name}`);
    return resolve(entry);
  }

  return {
    controlId,
    bundles,
    forwards: openForwards(),
    connections: openSshConnections({
      find: (machine) => findHostKey(db, machine),
      async keep(machine, key) {
        await batch((tx) => addHostKey(tx, machine, key, now().getTime()));
        return (await findHostKey(db, machine)) ?? key;
      },
    }),
    targetOf(host) {
      const key = JSON.stringify([host.pool, host.name]);
      const known = targets.get(key);
      if (known !== undefined) return known;
      const target = find(host);
      targets.set(key, target);
      target.catch(() => targets.delete(key));
      return target;
    },
    resolve,
    forget: () => targets.clear(),
  };
}
