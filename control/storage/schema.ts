import type { StorageRecord } from "../../contract/records/volumes.ts";
import { isUri, schemeOf } from "../../contract/task/storage-uri.ts";
import { seconds } from "../wire/fields.ts";

/** A bucket that tasks name. Instants are epoch milliseconds. */
export interface Storage {
  readonly name: string;
  /** The address of its bucket, or the name of its folder in control's own. */
  readonly id: string;
  readonly workspace: string;
  readonly user: { readonly id: string; readonly name: string };
  /** INIT once its bucket is made, READY once the first files are there; INIT_FAILED before that. */
  readonly status: StorageRecord["status"];
  readonly createdAt: number;
  /** The command line that used it last. */
  readonly lastUse: string;
}

/** Whether it is a bucket of a store, not a folder of control. */
export const isInStore = ({ id }: Pick<Storage, "id">): boolean => isUri(id);

/** Whether a bucket that was found may be somebody else's: control made none, or was killed before it recorded that it had. */
export const mayBeForeign = ({ status }: Storage, found: "empty" | "filled"): boolean =>
  status === "INIT_FAILED" && found === "filled";

/** Where storages are, as tasks and the wire name it; it knows no store of control's own. */
const kinds = { s3: "S3", gs: "GCS" } as const;

/** The address of a bucket in a kind of store; undefined for a kind in which control makes none. */
export const addressIn = (kind: string | undefined, bucket: string): string | undefined => {
  const scheme = Object.entries(kinds).find(([, name]) => name === kind)?.[0];
  return scheme && `${scheme}://${bucket}`;
};

/** A storage as the wire has it. */
export const toRecord = ({ name, id, createdAt, lastUse, status }: Storage): StorageRecord => ({
  name,
  launched_at: seconds(createdAt),
  store: [kinds[schemeOf(id) as keyof typeof kinds] ?? "VOLUME"],
  last_use: lastUse,
  status,
});
