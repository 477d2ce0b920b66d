import type { ProcessId } from "../../common/process-tree.ts";
import type { MountOrder } from "../../contract/mounts-api.ts";
import type { Agent } from "../context.ts";

/** A mount as the journal has it. */
export interface MountRow {
  readonly order: MountOrder;
  /** Where it lies. */
  readonly root: string;
  readonly program: string;
  /** What serves it since the last time; null before the first. */
  readonly server: ProcessId | null;
  readonly problem: string | null;
}

/** The mounts of this node, by where they lie. */
export function listMountRows({ journal }: Pick<Agent, "journal">): MountRow[] {
  const rows = journal.sql.all`SELECT * FROM mounts ORDER BY root`;
  return rows.map((row) => JSON.parse(journal.seal.open(row["body"] as Uint8Array)));
}

/** Writes a mount, in place of the one at the same path. */
export function saveMount({ journal }: Pick<Agent, "journal">, row: MountRow): void {
  const body = journal.seal.seal(JSON.stringify(row));
  journal.sql.run`INSERT INTO mounts VALUES (${row.root}, ${body})
    ON CONFLICT (root) DO UPDATE SET body = excluded.body`;
}

/** Forgets the mount of a path. */
export function dropMount({ journal }: Pick<Agent, "journal">, root: string): void {
  journal.sql.run`DELETE FROM mounts WHERE root = ${root}`;
}
