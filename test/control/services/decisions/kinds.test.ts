import assert from "node:assert/strict";
import { test } from "node:test";
import { type Kinds, kindsOf } from "../../../../control/services/decisions/kinds.ts";
import { aReplica } from "../rows.ts";
import { aPolicy } from "./versions.ts";

const spots = (count: number) =>
  Array.from({ length: count }, (_, number) => aReplica({ number, isSpot: true, status: "READY" }));

/** Never spot, stand-ins, wanted, spot ones that are ready: what there should be. */
const cases: [number, boolean, number, number, Kinds][] = [
  [0, false, 3, 0, { spot: 3, onDemand: 0 }],
  [1, false, 3, 0, { spot: 2, onDemand: 1 }],
  [2, false, 1, 0, { spot: 0, onDemand: 1 }],
  [0, true, 3, 0, { spot: 3, onDemand: 3 }],
  [0, true, 3, 2, { spot: 3, onDemand: 1 }],
  [0, true, 3, 3, { spot: 3, onDemand: 0 }],
  [1, true, 3, 0, { spot: 2, onDemand: 3 }],
  [1, true, 3, 2, { spot: 2, onDemand: 1 }],
  [1, true, 0, 0, { spot: 0, onDemand: 0 }],
];

for (const [baseOndemandReplicas, dynamicOndemandFallback, wanted, ready, kinds] of cases)
  test(`${wanted} wanted with ${baseOndemandReplicas} never spot${dynamicOndemandFallback ? ", stand-ins" : ""} and ${ready} spot ready`, () => {
    const policy = aPolicy(wanted, { baseOndemandReplicas, dynamicOndemandFallback });

    assert.deepEqual(kindsOf({ policy, usesSpot: true }, wanted, spots(ready)), kinds);
  });

test("without spot machines there is one kind, and only ready ones need no stand-in", () => {
  const policy = aPolicy(2, { dynamicOndemandFallback: true });
  const starting = [aReplica({ number: 1, isSpot: true })];

  assert.deepEqual(kindsOf({ policy, usesSpot: false }, 2, []), { spot: 0, onDemand: 2 });
  assert.deepEqual(kindsOf({ policy, usesSpot: true }, 2, starting), { spot: 2, onDemand: 2 });
});
