import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterMachine } from "../../../contract/statuses.ts";
import { plans } from "../../../control/clusters/plan.ts";
import type { Observed, Step } from "../../../control/clusters/planning.ts";
import { aCluster, aLifecycle, aNode } from "../../helpers/clusters.ts";
import { type Case, leads, now, off, pair, takeBack, testPlans } from "./planning.ts";

const up: Step = [{ do: "move", to: "UP", reason: "every node runs" }];
const init = (reason: string): Step => [{ do: "move", to: "INIT", reason }];
const idle = { autostop: { idleMinutes: 5, down: false, waitFor: "jobs", hook: null } } as const;
const alone = "was idle and turned itself off while control was away";
const headAlone =
  "was idle: its head turned itself off while control was away, its other nodes stayed on";

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
    "up, a worker is lost of what is replaced as a whole: nothing is created",
    {
      ...pair,
      madeFor: { what: "managed job 1", noun: "managed_job", id: "t", isReplacedWhole: true },
    },
    [aNode(0)],
    [init("node 1 is gone")],
  ],
  [
    "up, what is left of a node that has failed: it is created again, and why is told",
    {},
    [aNode(0, { ...off, gone: "OOMKilled" })],
    [init("node 0 is not running: OOMKilled"), [{ do: "create", rank: 0 }]],
  ],
  [
    "up, a node comes back by itself: it is waited for",
    {},
    [aNode(0, { ...off, state: "pending", gone: "requeued", reason: "BeginTime" })],
    [init("it waits for a machine"), [{ do: "await", why: "node 0 pending: BeginTime" }]],
  ],
  [
    "up, nodes wait for various things: those that wait for the same are counted together",
    { nodes: 7 },
    ["a", "b.", "a", "a", "b.", "c", "d"].map((reason, rank) =>
      aNode(rank, { ...off, state: "pending", reason }),
    ),
    [
      init("it waits for a machine"),
      [
        {
          do: "await",
          why: "node 0 and 2 more pending: a; node 1 and 1 more pending: b; node 5 pending: c; 1 more pending",
        },
      ],
    ],
  ],
  [
    "up, a node comes back by itself of what is replaced as a whole: it is not waited for",
    {
      madeFor: { what: "managed job 1", noun: "managed_job", id: "t", isReplacedWhole: true },
    },
    [aNode(0, { ...off, state: "pending", gone: "requeued" })],
    [init("node 0 is gone: requeued")],
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
  [
    "a node that is new gets its files before anybody is told a place",
    { ...pair, status: "INIT" },
    [aNode(0, { agent: "unset" }), aNode(1, { agent: "new" })],
    [
      [{ do: "bringFiles", ranks: [1] }],
      [
        { do: "configure", rank: 0 },
        { do: "configure", rank: 1 },
      ],
    ],
  ],
  ["whole but INIT: up", { status: "INIT" }, [aNode(0)], [up]],
  ["whole, autostop taken back: up", { status: "AUTOSTOPPING" }, [aNode(0)], [up]],

  [
    "up, nodes lack the hooks: they are told",
    pair,
    [aNode(0), aNode(1, { knowsHooks: false })],
    [[{ do: "tellHooks", rank: 1 }]],
  ],
  [
    "up, the idle timer began a stop: it is adopted",
    idle,
    [aNode(0, leads({ cause: "idle", known: "new" }))],
    [[{ do: "adopt", rank: 0 }]],
  ],
  [
    "being repaired, the idle timer began a stop: that is taken back",
    { ...idle, status: "INIT" },
    [aNode(0, leads({ cause: "idle", known: "new" }))],
    [takeBack],
  ],
  [
    "up, a worker was told that it is taken away: that is adopted",
    pair,
    [aNode(0), aNode(1, leads({ events: ["preemption"], known: "new" }))],
    [[{ do: "adopt", rank: 1 }]],
  ],
  [
    "up, a preemption that is known: it ends by itself",
    {},
    [aNode(0, leads({ events: ["preemption"] }))],
    [],
    [aLifecycle({ events: ["preemption"] })],
  ],
  [
    "up, a preemption that a stop met which was taken back",
    {},
    [aNode(0, leads({ events: ["preemption", "stop"], status: "READY" }))],
    [takeBack],
    [aLifecycle({ events: ["preemption", "stop"], status: "READY" })],
  ],
  [
    "up, a stop was taken back: the head is told",
    { status: "AUTOSTOPPING" },
    [aNode(0, leads())],
    [takeBack],
    [aLifecycle()],
  ],
  [
    "started again, the head still holds the stop: it is told",
    { status: "INIT" },
    [aNode(0, leads({ status: "READY", known: "over" }))],
    [takeBack],
  ],
  [
    "up, what is written down ended meanwhile: it is compared",
    {},
    [aNode(0)],
    [[{ do: "adopt", rank: 0 }]],
    [aLifecycle()],
  ],
  [
    "up, a preempted worker is gone: that ended, and it is replaced",
    pair,
    [aNode(0)],
    [
      init("node 1 is not running"),
      [{ do: "endLifecycles", ranks: [1] }],
      [{ do: "create", rank: 1 }],
    ],
    [aLifecycle({ rank: 1, events: ["preemption"] })],
  ],
  [
    "wanted up again although its nodes were leaving",
    {},
    [aNode(0)],
    [[{ do: "endLifecycles", ranks: [0] }]],
    [aLifecycle({ status: "LEAVING" })],
  ],
  [
    "up, every node turned itself off: the idle timer was alone",
    idle,
    [aNode(0, off)],
    [[{ do: "want", wanted: "STOPPED", because: alone }]],
  ],
  [
    "up, every node turned itself off, to be taken down",
    { autostop: { ...idle.autostop, down: true } },
    [aNode(0, off)],
    [[{ do: "want", wanted: "GONE", because: alone }]],
  ],
  [
    "up, the head of two nodes turned itself off: the worker goes too",
    { ...idle, ...pair },
    [aNode(0, off), aNode(1)],
    [[{ do: "want", wanted: "STOPPED", because: headAlone }]],
  ],
  [
    "up, the head was taken away: no idle timer did it",
    idle,
    [aNode(0, off)],
    [
      init("node 0 is not running"),
      [{ do: "endLifecycles", ranks: [0] }],
      [{ do: "create", rank: 0 }],
    ],
    [aLifecycle({ events: ["preemption"] })],
  ],
  [
    "up, every node is off, and no idle timer did it",
    {},
    [aNode(0, off)],
    [init("node 0 is not running"), [{ do: "create", rank: 0 }]],
  ],
  [
    "up, one of two nodes is off: no idle timer did it",
    { ...idle, ...pair },
    [aNode(0), aNode(1, off)],
    [init("node 1 is not running"), [{ do: "create", rank: 1 }]],
  ],
];

testPlans(cases);

test("no plan asks for a move that the machine does not allow", () => {
  const states: Observed[][] = [
    [],
    [aNode(0)],
    [aNode(0, off)],
    [aNode(0, { agent: "unset" })],
    [aNode(0, { agent: "new" })],
  ];
  const opens = [[], [aLifecycle()], [aLifecycle({ status: "LEAVING" })]];
  for (const status of clusterMachine.names)
    for (const wanted of ["UP", "STOPPED", "GONE"] as const)
      for (const nodes of states)
        for (const open of opens) {
          if (status === "GONE") continue;
          const steps = plans[wanted](aCluster({ status, wanted }), nodes, open, now);
          for (const action of steps.flat())
            if (action.do === "move")
              assert.ok(clusterMachine.allows(status, action.to), `${status}>${action.to}`);
        }
});
