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
          const names = steps.map(([action]) => action?.do ?? "");
          const leave = names.findIndex((name) => name.startsWith("leave"));
          const call = names.findIndex((name) => ["stop", "destroy"].includes(name));
          assert.ok(call === -1 || (leave !== -1 && leave < call), `${status}: ${names}`);
        }
});
