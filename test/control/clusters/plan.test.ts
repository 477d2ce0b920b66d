import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterMachine } from "../../../contract/statuses.ts";
import { type Observed, plans, type Step } from "../../../control/clusters/plan.ts";
import type { Cluster } from "../../../control/clusters/schema.ts";
import { aCluster, aNode } from "../../helpers/clusters.ts";

type Case = [name: string, cluster: Partial<Cluster>, nodes: Observed[], steps: Step[]];

const up: Step = [{ do: "move", to: "UP", reason: "every node runs" }];
const init = (reason: string): Step => [{ do: "move", to: "INIT", reason }];
const endJobs: Step = [{ do: "endJobs" }];
const pair = { nodes: 2 };
const stopping = { wanted: "STOPPED", wantedBecause: "stop by ada" } as const;
const leaving = { wanted: "GONE", wantedBecause: "down by ada" } as const;
const off = { state: "stopped", agent: "off" } as const;

const cases: Case[] = [
  ["up and whole: nothing", {}, [aNode(0)], []],
  [
    "new: every node is created",
    { ...pair, status: "INIT" },
    [],
    [
      [
        { do: "create", rank: 0 },
        { do: "create", rank: 1 },
      ],
    ],
  ],
  [
    "up, a worker is lost: INIT, then that one is created",
    pair,
    [aNode(0)],
    [init("node 1 is not running"), [{ do: "create", rank: 1 }]],
  ],
  [
    "up, all are lost",
    { nodes: 3 },
    [],
    [
      init("nodes 0, 1, 2 are not running"),
      [
        { do: "create", rank: 0 },
        { do: "create", rank: 1 },
        { do: "create", rank: 2 },
      ],
    ],
  ],
  [
    "stopped, wanted up: first it is INIT",
    { status: "STOPPED", wantedBecause: "start by ada" },
    [aNode(0, off)],
    [init("start by ada")],
  ],
  [
    "being started: its nodes are turned on",
    { status: "INIT" },
    [aNode(0, off)],
    [[{ do: "create", rank: 0 }]],
  ],
  [
    "a missing node comes before a silent one",
    pair,
    [aNode(0, { agent: "silent" })],
    [init("node 1 is not running"), [{ do: "create", rank: 1 }]],
  ],
  [
    "a silent agent is revived; the cluster stays up",
    pair,
    [aNode(0), aNode(1, { agent: "silent" })],
    [[{ do: "revive", rank: 1 }]],
  ],
  [
    "a silent agent comes before one that is not set",
    pair,
    [aNode(0, { agent: "unset" }), aNode(1, { agent: "silent" })],
    [[{ do: "revive", rank: 1 }]],
  ],
  [
    "an agent of other code is replaced before others are told their place",
    pair,
    [aNode(0, { agent: "unset" }), aNode(1, { agent: "outdated" })],
    [[{ do: "replace", rank: 1 }]],
  ],
  [
    "agents that do not know their place are told",
    { ...pair, status: "INIT" },
    [aNode(0, { agent: "unset" }), aNode(1, { agent: "unset" })],
    [
      [
        { do: "configure", rank: 0 },
        { do: "configure", rank: 1 },
      ],
    ],
  ],
  ["whole but INIT: up", { status: "INIT" }, [aNode(0)], [up]],
  ["whole, autostop taken back: up", { status: "AUTOSTOPPING" }, [aNode(0)], [up]],

  [
    "stop: jobs end, then nodes stop side by side",
    { ...pair, ...stopping },
    [aNode(0), aNode(1)],
    [
      endJobs,
      [
        { do: "stop", nodeId: "c1-0" },
        { do: "stop", nodeId: "c1-1" },
      ],
    ],
  ],
  [
    "stop, all are off",
    stopping,
    [aNode(0, off)],
    [[{ do: "move", to: "STOPPED", reason: "stop by ada" }]],
  ],
  [
    "stop before there is a node",
    { ...stopping, status: "INIT" },
    [],
    [[{ do: "move", to: "STOPPED", reason: "stop by ada" }]],
  ],
  ["stopped and wanted so: nothing", { ...stopping, status: "STOPPED" }, [aNode(0, off)], []],

  [
    "down: jobs end, then nodes go side by side",
    { ...pair, ...leaving },
    [aNode(0), aNode(1)],
    [
      endJobs,
      [
        { do: "destroy", nodeId: "c1-0" },
        { do: "destroy", nodeId: "c1-1" },
      ],
    ],
  ],
  [
    "down of one that is half gone",
    { ...pair, ...leaving },
    [aNode(1)],
    [endJobs, [{ do: "destroy", nodeId: "c1-1" }]],
  ],
  ["down, nothing is left", leaving, [], [[{ do: "move", to: "GONE", reason: "down by ada" }]]],
];

for (const [name, given, nodes, steps] of cases)
  test(`plan: ${name}`, () => {
    const cluster = aCluster(given);

    assert.deepEqual(plans[cluster.wanted](cluster, nodes), steps);
  });

test("no plan asks for a move that the machine does not allow", () => {
  const states: Observed[][] = [[], [aNode(0)], [aNode(0, off)], [aNode(0, { agent: "unset" })]];
  for (const status of clusterMachine.names)
    for (const wanted of ["UP", "STOPPED", "GONE"] as const)
      for (const nodes of states) {
        if (status === "GONE") continue;
        const steps = plans[wanted](aCluster({ status, wanted }), nodes);
        for (const action of steps.flat())
          if (action.do === "move")
            assert.ok(clusterMachine.allows(status, action.to), `${status}>${action.to}`);
      }
});

test("jobs are ended only where nodes still run", () => {
  assert.deepEqual(plans.GONE(aCluster(leaving), [aNode(0, off)]).flat(), [
    { do: "destroy", nodeId: "c1-0" },
  ]);
});
