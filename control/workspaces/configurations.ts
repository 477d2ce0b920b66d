import type { Seal } from "../../common/seal.ts";
import type { Configuration } from "../../contract/records/workspaces.ts";
import type { Connection, Queries } from "../db/open.ts";
import { type Workspaces, workspacesIn } from "./schema.ts";
import { holdNewest, newestVersion, readVersion } from "./store.ts";

/** A version of the configuration of control; 0 is the one that nobody changed. */
export interface StoredConfiguration {
  readonly version: number;
  readonly document: Configuration;
  /** The workspaces in it, the default one included. */
  readonly workspaces: Workspaces;
}

/** The versions of the configuration; the one that is in force is read once. */
export interface Configurations {
  /** The version that is in force; a transaction sees what it has written itself. */
  current(db?: Queries): Promise<StoredConfiguration>;
  /** The same, held until the transaction ends: nobody else launches in a workspace or changes one meanwhile. */
  hold(tx: Connection): Promise<StoredConfiguration>;
  /** A version by its number. */
  at(version: number): Promise<StoredConfiguration>;
}

/** Opens the configurations in the database. */
export function openConfigurations(db: Queries, seal: Seal): Configurations {
  let known = toStored(0, {});

  const read = async (from: Queries, version: number): Promise<StoredConfiguration> =>
    known.version === version ? known : toStored(version, await readVersion(from, seal, version));

  return {
    async at(version) {
      known = await read(db, version);
      return known;
    },
    hold: async (tx) => read(tx, await holdNewest(tx)),
    async current(from = db) {
      const found = await read(from, await newestVersion(from));
      // What a transaction sees may yet be undone.
      if (from === db) known = found;
      return found;
    },
  };
}

const toStored = (version: number, document: Configuration): StoredConfiguration => ({
  version,
  document,
  workspaces: workspacesIn(document),
});
