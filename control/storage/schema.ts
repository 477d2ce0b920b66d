import type { StorageRecord } from "../../contract/records/volumes.ts";
import { seconds } from "../wire/fields.ts";

/** A bucket that tasks name. Instants are epoch milliseconds. */
export interface Storage {
  readonly name: string;
  /** Names its folder. */
  readonly id: string;
  readonly workspace: string;
  readonly user: { readonly id: string; readonly name: string };
  /** READY once the first files are there. */
  readonly status: StorageRecord["status"];
  readonly createdAt: number;
  /** The command line that used it last. */
  readonly lastUse: string;
}

/** A storage as the wire has it; the wire knows no store of control's own. */
export const toRecord = ({ name, createdAt, lastUse, status }: Storage): StorageRecord => ({
  name,
  launched_at: seconds(createdAt),
  store: ["VOLUME"],
  last_use: lastUse,
  status,
});
