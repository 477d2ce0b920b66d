import type { LimitName } from "../../contract/records/workspaces.ts";
import { gone } from "../db/lists.ts";
import type { Queries } from "../db/open.ts";
import type { Offer } from "../providers/provider.ts";
import type { Use } from "./schema.ts";

const hourMs = 3_600_000;

/** What counts of the machines of a cluster. */
export interface Machines {
  readonly nodes: number;
  readonly offer: Pick<Offer, "accelerators" | "dollarsPerHour">;
}

/** What a cluster adds to the use of its workspace; its dollars are those of an hour. */
export function useOf({ nodes, offer }: Machines, count = 1): Use {
  const dollars = count * nodes * offer.dollarsPerHour;
  return {
    clusters: count,
    accelerators: count * nodes * (offer.accelerators?.count ?? 0),
    dollars_per_day: dollars,
    dollars_per_month: dollars,
  };
}

interface Asked {
  readonly workspace: string;
  /** Only what one of these limits counts is read; the rest is 0. */
  readonly limits: readonly LimitName[];
  /** Clusters that do not count. */
  readonly except?: readonly string[];
}

/**
 * What the clusters of a workspace use that are not stopped, and what all of them have cost since the
 * begin of the UTC day and month.
 */
export async function readUse(
  db: Queries,
  { workspace, limits, except = [] }: Asked,
  now: Date,
): Promise<Use> {
  const has = (...names: LimitName[]) => names.some((name) => limits.includes(name));
  const on = has("clusters", "accelerators") ? await listOn(db, workspace, except) : [];
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  const day = Date.UTC(year, month, now.getUTCDate());
  const first = has("dollars_per_month") ? Date.UTC(year, month, 1) : day;
  const ran = has("dollars_per_day", "dollars_per_month")
    ? await listRuns(db, workspace, first)
    : [];
  const spentSince = (start: number) =>
    sum(
      ran.map(({ from, to, ...machines }) => {
        const ms = Math.max(
          0,
          Math.min(to ?? now.getTime(), now.getTime()) - Math.max(from, start),
        );
        return (useOf(machines).dollars_per_day * ms) / hourMs;
      }),
    );
  return {
    clusters: on.length,
    accelerators: sum(on.map((machines) => useOf(machines).accelerators)),
    dollars_per_day: spentSince(day),
    dollars_per_month: spentSince(first),
  };
}

const sum = (amounts: readonly number[]): number => amounts.reduce((all, one) => all + one, 0);

/** Clusters that are not stopped, or are to be started. */
async function listOn(db: Queries, workspace: string, except: readonly string[]) {
  const rows = await db
    .selectFrom("clusters")
    .select(["id", "nodes", "offer"])
    .where("workspace", "=", workspace)
    .where("status", "<>", gone)
    .where((where) => where.or([where("status", "<>", "STOPPED"), where("wanted", "=", "UP")]))
    .execute();
  return rows.filter(({ id }) => !except.includes(id)).map(toMachines);
}

/** When clusters of a workspace ran that did so since an instant. */
async function listRuns(db: Queries, workspace: string, since: number) {
  const rows = await db
    .selectFrom("usage_intervals")
    .innerJoin("clusters", "clusters.id", "usage_intervals.cluster_id")
    .select(["nodes", "offer", "started_at as from", "ended_at as to"])
    .where("workspace", "=", workspace)
    .where((where) => where.or([where("ended_at", "is", null), where("ended_at", ">", since)]))
    .execute();
  return rows.map(({ from, to, ...row }) => ({ from, to, ...toMachines(row) }));
}

const toMachines = ({ nodes, offer }: { nodes: number; offer: string }): Machines => ({
  nodes,
  offer: JSON.parse(offer),
});
