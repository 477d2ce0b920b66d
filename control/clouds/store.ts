import type { Selectable } from "kysely";
import type { Connection, Queries } from "../db/open.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.ts";
import type { RefusalKind } from "../providers/provider.ts";
import { isOver, type Refusal } from "./schema.ts";

/** More offers than are refused within the longest wait. */
const refusalsAtMost = 1_000;

/** Remembers that an offer was refused, and forgets refusals that are over. */
export async function addRefusal(db: Connection, refusal: Refusal): Promise<void> {
  const { kind, reason, at, until } = refusal;
  await db.deleteFrom("refused_offers").where("until", "<=", at).execute();
  await db
    .insertInto("refused_offers")
    .values(toRow(refusal))
    .onConflict((conflict) => conflict.doUpdateSet({ kind, reason, at, until }))
    .execute();
}

/** The offers that are refused at an instant, the longest refusals first. */
export async function listRefusals(db: Queries, now: number): Promise<Refusal[]> {
  const rows = await selectRefusals(db, { now, most: refusalsAtMost });
  return rows.map(toRefusal).filter((refusal) => !isOver(refusal, now));
}

type Listed = { readonly now: number; readonly most: number };

const selectRefusals = statement((db: Queries, { now, most }: Listed) =>
  db
    .selectFrom("refused_offers")
    .selectAll()
    .where("until", ">", now)
    .orderBy("until", "desc")
    .limit(most),
);

type Row = Selectable<Tables["refused_offers"]>;

const toRow = ({ offer, nodes, kind, reason, at, until }: Refusal): Row => ({
  provider: offer.provider,
  infra: offer.infra,
  // A key has no NULL.
  region: offer.region ?? "",
  zone: offer.zone ?? "",
  instance_type: offer.instanceType,
  is_spot: Number(offer.isSpot === true),
  ...{ nodes, kind, reason, at, until },
});

const toRefusal = (row: Row): Refusal => ({
  offer: {
    provider: row.provider,
    infra: row.infra,
    region: row.region || null,
    zone: row.zone || null,
    instanceType: row.instance_type,
    ...(row.is_spot === 1 && { isSpot: true }),
  },
  nodes: row.nodes,
  kind: row.kind as RefusalKind,
  reason: row.reason,
  at: row.at,
  until: row.until,
});
