import type { SQLOutputValue } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { HookSet } from "../../contract/lifecycle-shapes.ts";
import type { Agent } from "../context.ts";
import { addEvent } from "../events.ts";
import { type Journal, transaction } from "../journal.ts";
import type { LifecycleRow, LifecycleSpec, Unsaved } from "./row.ts";

/** How many lifecycles are kept. */
export const keptLifecycles = 10;
const retryMs = 1_000;

type World = Pick<Agent, "journal" | "unsaved">;

/**
 * Writes a lifecycle with its next revision, its spec the first time, and an event a word of `tells`;
 * answers what was written. When the journal cannot be written it is kept in memory, is as true from
 * there, and is tried again.
 */
export function saveLifecycle(
  agent: Agent,
  changed: LifecycleRow,
  { tells = [], spec }: { tells?: readonly string[]; spec?: LifecycleSpec } = {},
): LifecycleRow {
  const row = { ...changed, revision: nextRevision(agent, changed.id) };
  const isBehind = agent.unsaved.size > 0;
  const before = agent.unsaved.get(row.id);
  const kept = spec ?? before?.spec;
  const told = [...(before?.tells ?? []), ...tells];
  agent.unsaved.set(row.id, { row, tells: told, ...(kept === undefined ? {} : { spec: kept }) });
  if (!persist(agent) && !isBehind) void persistLater(agent);
  return row;
}

/** At least the present instant, so that it is also above one that a crash lost from memory. */
const nextRevision = (agent: Agent, id: string): number =>
  Math.max((findLifecycle(agent, id)?.revision ?? 0) + 1, agent.now());

/** The lifecycle, or undefined. */
export function findLifecycle({ journal, unsaved }: World, id: string): LifecycleRow | undefined {
  const row = unsaved.get(id)?.row;
  if (row !== undefined) return row;
  const found = journal.sql.get`SELECT state FROM lifecycles WHERE id = ${id}`;
  return found === undefined ? undefined : toRow(found);
}

/** What the hooks of a lifecycle are; undefined once it is forgotten. */
export function findLifecycleSpec({ journal, unsaved }: World, id: string) {
  const spec = unsaved.get(id)?.spec;
  if (spec !== undefined) return spec;
  const row = journal.sql.get`SELECT spec FROM lifecycles WHERE id = ${id}`;
  if (row === undefined) return undefined;
  return JSON.parse(journal.seal.open(row["spec"] as Uint8Array)) as LifecycleSpec;
}

/** The lifecycle that is under way, or undefined. */
export function findOpenLifecycle(world: World): LifecycleRow | undefined {
  const rows = world.journal.sql.all`SELECT state FROM lifecycles WHERE ended_at IS NULL`;
  return merged(world, rows.map(toRow)).find(({ endedAt }) => endedAt === null);
}

/** The lifecycles that somebody must lead. */
export function listUnsettled(world: World): LifecycleRow[] {
  const rows = world.journal.sql.all`SELECT state FROM lifecycles WHERE settled = 0`;
  return merged(world, rows.map(toRow)).filter(({ isSettled }) => !isSettled);
}

/** The lifecycles that are kept, newest first. */
export function listLifecycleRows(world: World): LifecycleRow[] {
  const rows = world.journal.sql.all`SELECT state FROM lifecycles ORDER BY seq DESC`;
  return merged(world, rows.map(toRow));
}

/** Forgets a lifecycle. */
export function dropLifecycle({ journal }: World, id: string): void {
  journal.sql.run`DELETE FROM lifecycles WHERE id = ${id}`;
}

/** Writes the hooks that the next lifecycle begins with. */
export function setHookSet({ sql, seal }: Journal, { version, ...set }: HookSet): void {
  const body = seal.seal(JSON.stringify(set));
  sql.run`INSERT INTO hook_set VALUES (1, ${version}, ${body})
    ON CONFLICT (only) DO UPDATE SET version = excluded.version, body = excluded.body`;
}

/** The hooks that the next lifecycle begins with, or undefined. */
export function findHookSet({ sql, seal }: Journal): Omit<HookSet, "version"> | undefined {
  const row = sql.get`SELECT body FROM hook_set`;
  if (row === undefined) return undefined;
  return JSON.parse(seal.open(row["body"] as Uint8Array)) as Omit<HookSet, "version">;
}

/** Which hooks the node has, or null. */
export function findHooksVersion({ sql }: Journal): string | null {
  const row = sql.get`SELECT version FROM hook_set`;
  return row === undefined ? null : String(row["version"]);
}

/** What is in memory alone is newer than what is on disk. */
function merged({ unsaved }: World, rows: readonly LifecycleRow[]): LifecycleRow[] {
  const fresh = [...unsaved.values()].map(({ row }) => row).reverse();
  const isKnown = ({ id }: LifecycleRow) => rows.some((row) => row.id === id);
  return [
    ...fresh.filter((row) => !isKnown(row)),
    ...rows.map((row) => unsaved.get(row.id)?.row ?? row),
  ];
}

/** Whether the journal now has everything. */
function persist(agent: Agent): boolean {
  const { journal, unsaved, log } = agent;
  try {
    transaction(journal, () => {
      for (const one of unsaved.values()) write(agent, one);
    });
    unsaved.clear();
    return true;
  } catch (error) {
    log.warn(
      { lifecycles: [...unsaved.keys()], error },
      "the journal cannot be written; continuing",
    );
    return false;
  }
}

/** A disk has room again some time; what was kept until then is on it at the latest a moment later. */
async function persistLater(agent: Agent): Promise<void> {
  const { unsaved, stopping } = agent;
  do await sleep(retryMs);
  while (!stopping.aborted && unsaved.size > 0 && !persist(agent));
}

function write(agent: Agent, { row, spec, tells }: Unsaved): void {
  const { sql, seal } = agent.journal;
  const state = JSON.stringify(row);
  const settled = row.isSettled ? 1 : 0;
  if (spec !== undefined)
    sql.run`INSERT INTO lifecycles (id, ended_at, settled, state, spec)
      VALUES (${row.id}, ${row.endedAt}, ${settled}, ${state}, ${seal.seal(JSON.stringify(spec))})
      ON CONFLICT (id) DO NOTHING`;
  sql.run`UPDATE lifecycles SET ended_at = ${row.endedAt}, settled = ${settled}, state = ${state}
    WHERE id = ${row.id}`;
  for (const status of tells) addEvent(agent, { kind: "lifecycle", lifecycleId: row.id, status });
}

const toRow = (row: Record<string, SQLOutputValue>): LifecycleRow =>
  JSON.parse(String(row["state"])) as LifecycleRow;
