import type { Seal } from "../../../common/seal.ts";
import type { Connection, Queries } from "../../db/open.ts";
import { statement } from "../../db/statement.ts";
import type { KeptParcel } from "./parcels.ts";

/** What the nodes of a cluster were brought, in that order; empty before the first time. */
export async function listParcels(db: Queries, seal: Seal, id: string): Promise<KeptParcel[]> {
  const [row] = await selectParcels(db, { id });
  return row?.parcels ? JSON.parse(seal.open(row.parcels)) : [];
}

const selectParcels = statement((db: Queries, { id }: { readonly id: string }) =>
  db.selectFrom("clusters").select("parcels").where("id", "=", id),
);

/** Replaces what a cluster's nodes were brought. */
export async function setParcels(
  db: Connection,
  seal: Seal,
  id: string,
  parcels: readonly KeptParcel[],
): Promise<void> {
  const sealed = seal.seal(JSON.stringify(parcels));
  await db.updateTable("clusters").set({ parcels: sealed }).where("id", "=", id).execute();
}
