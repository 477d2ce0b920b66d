import assert from "node:assert/strict";
import { test } from "node:test";
import { plans } from "../../../../control/clusters/plan.ts";
import type { Observed } from "../../../../control/clusters/planning.ts";
import { aCluster, aLifecycle, aNode } from "../../../helpers/clusters.ts";
import { leads, now } from "../planning.ts";

test("the provider is called for a cluster that was up only once that is written down", () => {
  const heads: Partial<Observed>[] = [{}, leads(), leads({ status: "READY" }), { agent: "silent" }];
  for (const status of ["INIT", "UP", "AUTOSTOPPING"] as const)
    for (const wanted of ["STOPPED", "GONE"] as const)
      for (const head of heads)
        for (const open of [[], [aLifecycle()], [aLifecycle({ status: "READY" })]]) {
          const steps = plans[wanted](aCluster({ status, wanted }), [aNode(0, head)], open, now);
          const deeds = steps.map((step) => step[0]?.do);
          const writes = deeds.findIndex((name) => name?.startsWith("leave"));
          const calls = deeds.findIndex((name) => name === "stop" || name === "destroy");
          assert.ok(calls < 0 || (writes >= 0 && writes < calls), `${status} ${deeds}`);
        }
});
