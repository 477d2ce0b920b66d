import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredLifecycle } from "../../../control/clusters/lifecycles/schema.ts";
import { plans } from "../../../control/clusters/plan.ts";
import type { Observed, Step } from "../../../control/clusters/planning.ts";
import type { Cluster } from "../../../control/clusters/schema.ts";
import { aCluster } from "../../helpers/clusters.ts";

/** A cluster, its nodes, what is known to be under way, and what is planned for it. */
export type Case = [
  name: string,
  cluster: Partial<Cluster>,
  nodes: Observed[],
  steps: Step[],
  open?: StoredLifecycle[],
];

/** What a head leads; by default a user's stop that is written down. */
export const leads = (
  more: Partial<NonNullable<Observed["lifecycle"]>> = {},
): Partial<Observed> => ({
  lifecycle: { id: "l1", cause: "user", events: ["stop"], status: "HOOKS", known: "open", ...more },
});

export const pair = { nodes: 2 };
export const off = { state: "stopped", agent: "off" } as const;
export const takeBack: Step = [{ do: "takeBack", id: "l1" }];

/** When plans are made. */
export const now = 1_000;

/** A test for each case. */
export function testPlans(cases: readonly Case[]): void {
  for (const [name, given, nodes, steps, open = []] of cases)
    test(`plan: ${name}`, () => {
      const cluster = aCluster(given);

      assert.deepEqual(plans[cluster.wanted](cluster, nodes, open, now), steps);
    });
}
