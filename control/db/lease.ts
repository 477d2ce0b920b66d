import { sql } from "kysely";
import type { Database, Queries } from "./open.ts";
import { statement } from "./statement.ts";

/**
 * A process's right to write. One that was frozen, cut off, or copied together with its machine may come
 * back after another one has taken over: whatever it then writes is refused.
 */
export interface Lease {
  readonly epoch: number;
  /** Throws `LeaseLostError` once another process has taken over. */
  check(db: Queries): Promise<void>;
  /** Resolves when a check finds that another process has taken over. */
  readonly lost: Promise<LeaseLostError>;
}

/** Another process works on the rows: this one has to end, and may write nothing any more. */
export class LeaseLostError extends Error {
  override readonly name = "LeaseLostError";
}

/** Takes over from whichever process had the lease. */
export async function takeLease(db: Database): Promise<Lease> {
  const { epoch } = await db
    .updateTable("lease")
    // Higher than any before even where the database is an older copy of the one that those wrote to, unless the
    // clock was set back to before the last of them started.
    .set({ epoch: sql`max(epoch + 1, ${Date.now()})` })
    .where("id", "=", 1)
    .returning("epoch")
    .executeTakeFirstOrThrow();
  const { promise: lost, resolve: lose } = Promise.withResolvers<LeaseLostError>();
  return {
    epoch,
    lost,
    async check(reader) {
      const [now] = await selectEpoch(reader, { id: 1 });
      if (now?.epoch === epoch) return;
      const error = new LeaseLostError(
        "another control plane has taken over this home; this one stops writing",
      );
      lose(error);
      throw error;
    },
  };
}

const selectEpoch = statement((db: Queries, { id }: { readonly id: number }) =>
  db.selectFrom("lease").select("epoch").where("id", "=", id),
);
