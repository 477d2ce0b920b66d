import { type Row, Violation } from "./checks.ts";

/** What there is beside control. */
export interface Existing {
  /** The clusters that machines belong to which did not come late. */
  clusterIds(): string[];
  /** Of those the ones of which a node waits for its machine. */
  pendingIds(): string[];
  /** The services that have a balancer. */
  serviceIds(): string[];
}

/** Nothing is left of what is GONE, and what is UP has its machines. */
export function checkGone(found: readonly Row[], existing: Existing): void {
  const machines = new Set(existing.clusterIds());
  const balancers = new Set(existing.serviceIds());
  const pending = new Set(existing.pendingIds());
  const isLive = new Set(
    found.filter(({ noun, status }) => noun === "cluster" && status !== "GONE").map(({ id }) => id),
  );
  for (const { noun, id, name, status, wanted } of found) {
    if (noun === "cluster" && status === "UP" && pending.has(id))
      throw new Violation("UP while a node waits for its machine", name);
    if (status !== "GONE") continue;
    if (noun === "cluster" && machines.has(id))
      throw new Violation("a machine outlives its cluster", name);
    if (noun === "service" && balancers.has(id))
      throw new Violation("a balancer outlives its service", name);
    // The cluster of a replica has its id.
    if (noun === "replica" && isLive.has(id))
      throw new Violation("a cluster outlives its replica", name);
    if (noun !== "replica" && wanted !== "GONE")
      throw new Violation("GONE is not wanted", `${name}: ${wanted}`);
  }
}
