import * as z from "zod";
import { StorageRecord } from "../../contract/records/volumes.ts";
import { form, instant, instantOf } from "./shapes.ts";

/** A bucket, as `storage ls` prints it. */
export const storageForm = form(
  z.strictObject({
    name: z.string(),
    store: z
      .string()
      .describe("Where it is: `s3`, `gcs`, or `control`, a folder of the control plane."),
    status: StorageRecord.shape.status,
    created_at: instant.nullable(),
    last_use: z.string().describe("The command line that used it last."),
  }),
  ({ name, store, status, launched_at, last_use }: z.output<typeof StorageRecord>) => ({
    ...{ name, store: placeOf(store), status, last_use },
    created_at: instantOf(launched_at),
  }),
);

/** Where a bucket is; a folder of control goes by a name that the protocol has for volumes. */
export const placeOf = (stores: readonly string[]): string =>
  stores.map((store) => (store === "VOLUME" ? "control" : store.toLowerCase())).join(", ");
