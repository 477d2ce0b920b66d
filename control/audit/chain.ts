import { createHash } from "node:crypto";
import type { Selectable } from "kysely";
import type { Tables } from "../db/tables.ts";

export type AuditRow = Selectable<Tables["audit"]>;

/** What an entry is chained to: the one before it. */
export type Link = Pick<AuditRow, "seq" | "hash">;

/** What the first entry is chained to. */
export const genesis: Link = { seq: 0, hash: new Uint8Array(32) };

/** The hash of an entry: over the hash of the one before it, and all its fields in their order. */
export const hashOf = (row: Omit<AuditRow, "hash">, before: Link): Uint8Array =>
  createHash("sha256")
    .update(before.hash)
    .update(
      JSON.stringify([
        ...[row.seq, row.at, row.user_id, row.user_name, row.credential, row.address],
        ...[row.operation, row.subject, row.outcome, row.reason, row.request_id],
      ]),
    )
    .digest();

/** What is wrong with an entry that should follow another one; undefined where it does. */
export function flawOf(row: AuditRow, before: Link): string | undefined {
  const next = before.seq + 1;
  if (row.seq === next + 1) return `entry ${next} is missing`;
  if (row.seq !== next) return `entries ${next} to ${row.seq - 1} are missing`;
  if (Buffer.compare(row.hash, hashOf(row, before)) === 0) return undefined;
  return `entry ${row.seq} was changed, or is not the one that was written after entry ${before.seq}`;
}
