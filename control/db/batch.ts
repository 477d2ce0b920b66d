import type { Transaction } from "kysely";
import type { Database } from "./open.ts";
import type { Tables } from "./tables.ts";

/** A write that takes part in a shared transaction. */
type Write<T> = (tx: Transaction<Tables>) => Promise<T>;

/**
 * Gathers the writes of one turn of the event loop and commits them together: a disk flush costs
 * the same for one as for fifty. A write is durable when its promise resolves.
 */
export type Batch = <T>(write: Write<T>) => Promise<T>;

/** What goes with each transaction. */
export interface Around {
  /** Called first in it; where it throws, nothing is written. */
  readonly before: (tx: Transaction<Tables>) => Promise<void>;
  /** Called once it is durable. */
  readonly after: (tx: Transaction<Tables>) => void;
}

interface Entry {
  write: Write<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Opens a batch over the database. */
export function openBatch(db: Database, around: Partial<Around> = {}): Batch {
  const { before = async () => {}, after = () => {} } = around;
  let waiting: Entry[] = [];
  let committing = false;

  async function commitAll(): Promise<void> {
    committing = true;
    while (waiting.length > 0) {
      const entries = waiting;
      waiting = [];
      await commit(db, entries, { before, after });
    }
    committing = false;
  }

  return <T>(write: Write<T>) =>
    new Promise<T>((resolve, reject) => {
      waiting.push({ write, resolve: (value) => resolve(value as T), reject });
      if (waiting.length === 1 && !committing) setImmediate(commitAll);
    });
}

/** One transaction for all; when it fails, one for each, so that only the guilty write is told. */
async function commit(db: Database, entries: Entry[], around: Around): Promise<void> {
  const outcome = await db
    .transaction()
    .execute(async (tx) => {
      await around.before(tx);
      const results: unknown[] = [];
      for (const { write } of entries) results.push(await write(tx));
      return { tx, results };
    })
    .catch((error: unknown) => ({ error }));
  if ("error" in outcome) {
    if (entries.length === 1) return entries[0]?.reject(outcome.error);
    for (const entry of entries) await commit(db, [entry], around);
    return;
  }
  for (const [index, entry] of entries.entries()) entry.resolve(outcome.results[index]);
  around.after(outcome.tx);
}
