import assert from "node:assert/strict";
import { test } from "node:test";
import { balancerPlanOf } from "../../../../control/services/balancing/plan.ts";
import type { OpenVersion } from "../../../../control/services/versions/task.ts";
import { readServiceTask } from "../../../../control/services/versions/task.ts";
import { aReplica } from "../rows.ts";

/** The headers that the probe of a service carries. */
function headersOf(service: string): Readonly<Record<string, string>> | undefined {
  const yaml = `secrets: { KEY: k }\nservice: { ports: 8080, ${service} }\nrun: serve\n`;
  const goal: OpenVersion = { yaml, blobId: null, tls: null, ...readServiceTask(yaml, "serve.up") };
  const replica = aReplica({ host: "127.0.0.1", port: 1 });
  const versions = new Map([[1, goal]]);
  return balancerPlanOf([replica], new Map([[1, "serving"]]), { goal, versions }).probes["1"]
    ?.headers;
}

test("a probe carries the key that the sidecar asks, unless it says which", () => {
  const auth = "auth: { api_key: $KEY }";

  assert.deepEqual(headersOf("readiness_probe: /health"), {});
  assert.deepEqual(headersOf(`readiness_probe: /health, ${auth}`), { Authorization: "Bearer k" });
  assert.deepEqual(
    headersOf(`readiness_probe: { path: /, headers: { authorization: Bearer x } }, ${auth}`),
    { authorization: "Bearer x" },
  );
});

/** How many replicas a service says to have, and whether a request may wait for one. */
const waits: readonly [string, boolean][] = [
  ["replicas: 0", false],
  ["replicas: 1", true],
  ["replica_policy: { min_replicas: 0, max_replicas: 1, target_qps_per_replica: 1 }", true],
];

for (const [replicas, mayWait] of waits)
  test(`with ${replicas} a request ${mayWait ? "may wait" : "does not wait"} for a replica`, () => {
    const yaml = `service: { ports: 8080, readiness_probe: /, ${replicas} }\nrun: serve\n`;
    const goal: OpenVersion = {
      ...{ yaml, blobId: null, tls: null },
      ...readServiceTask(yaml, "serve.up"),
    };

    const { hold } = balancerPlanOf([], new Map(), { goal, versions: new Map() });

    assert.equal(hold.requests > 0, mayWait);
  });
