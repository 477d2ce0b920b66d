import { createHash } from "node:crypto";
import type { Selectable } from "kysely";
import type { Connection } from "../db/open.ts";
import type { Tables } from "../db/tables.ts";

/** What is written down of a call. Nothing in it is secret. */
export interface NewAudit {
  readonly at: number;
  /** Empty where nobody was identified. */
  readonly userId: string;
  readonly userName: string;
  readonly credential: string;
  readonly address: string;
  readonly operation: string;
  readonly subject: string | null;
  readonly outcome: "allowed" | "refused";
  readonly reason: string | null;
  readonly requestId: string | null;
}

type Row = Selectable<Tables["audit"]>;

/** What the hash of the first entry covers in place of the entry before it. */
const genesis = new Uint8Array(32);

/** Adds an entry to the chain. */
export async function addAudit(tx: Connection, entry: NewAudit): Promise<void> {
  const last = await tx
    .selectFrom("audit")
    .select(["seq", "hash"])
    .where("seq", "=", (newest) =>
      newest.selectFrom("audit").select(({ fn }) => fn.max("seq").as("seq")),
    )
    .executeTakeFirst();
  const row = {
    seq: (last?.seq ?? 0) + 1,
    at: entry.at,
    user_id: entry.userId,
    user_name: entry.userName,
    credential: entry.credential,
    address: entry.address,
    operation: entry.operation,
    subject: entry.subject,
    outcome: entry.outcome,
    reason: entry.reason,
    request_id: entry.requestId,
  };
  await tx
    .insertInto("audit")
    .values({ ...row, hash: hashOf(row, last?.hash ?? genesis) })
    .execute();
}

/** The hash of an entry: over the hash of the one before it, and all its fields in their order. */
export const hashOf = (row: Omit<Row, "hash">, before: Uint8Array): Uint8Array =>
  createHash("sha256")
    .update(before)
    .update(
      JSON.stringify([
        ...[row.seq, row.at, row.user_id, row.user_name, row.credential, row.address],
        ...[row.operation, row.subject, row.outcome, row.reason, row.request_id],
      ]),
    )
    .digest();
