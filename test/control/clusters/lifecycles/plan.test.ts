import type { Step } from "../../../../control/clusters/planning.ts";
import { aLifecycle, aNode } from "../../../helpers/clusters.ts";
import { aRun } from "../../../helpers/lifecycles.ts";
import { type Case, leads, now, off, pair, takeBack, testPlans } from "../planning.ts";

const begin: Step = [{ do: "begin" }];
const without = (why: string, ...calls: Step[]): Step[] => [
  [{ do: "leaveWithout", why }],
  ...calls,
];
const stops = (...ranks: number[]): Step =>
  ranks.map((rank) => ({ do: "stop", nodeId: `c1-${rank}` }));
const destroys = (...ranks: number[]): Step =>
  ranks.map((rank) => ({ do: "destroy", nodeId: `c1-${rank}` }));
const stopping = { wanted: "STOPPED", wantedBecause: "stop by ada" } as const;
const leaving = { wanted: "GONE", wantedBecause: "down by ada" } as const;

const farewell: Step[] = [[{ do: "fetchLogs" }], [{ do: "leave" }]];
const taken = aLifecycle({ id: "l2", rank: 1, events: ["preemption"], deadlineAt: now + 1 });

const cases: Case[] = [
  ["stop: the head begins", { ...pair, ...stopping }, [aNode(0), aNode(1)], [begin]],
  [
    "stop, the head lacks the hooks: it is told first",
    stopping,
    [aNode(0, { knowsHooks: false })],
    [[{ do: "tellHead" }]],
  ],
  [
    "stop without hooks: nothing is told but that",
    { ...stopping, skipHooks: true },
    [aNode(0, { knowsHooks: false })],
    [begin],
  ],
  [
    "stop, a head that knows another place",
    stopping,
    [aNode(0, { agent: "unset" })],
    [[{ do: "configure", rank: 0 }]],
  ],
  [
    "stop, a head that is new: it stays so, and gets its files once it is started",
    stopping,
    [aNode(0, { agent: "new" })],
    without(
      "hooks skipped: the head of demo was replaced, and nothing has run there yet",
      stops(0),
    ),
  ],
  [
    "stop, the head is away: it is looked for",
    stopping,
    [aNode(0, { agent: "silent" })],
    [[{ do: "rouseHead", replaces: false }]],
  ],
  [
    "stop, the head runs other code",
    stopping,
    [aNode(0, { agent: "outdated" })],
    [[{ do: "rouseHead", replaces: true }]],
  ],
  [
    "stop without hooks, the head is away: nobody waits for it",
    { ...stopping, skipHooks: true },
    [aNode(0, { agent: "silent" })],
    without("hooks skipped: the head of demo does not answer", stops(0)),
  ],
  [
    "stop, the head is gone",
    { ...stopping, ...pair },
    [aNode(1)],
    without("hooks skipped: the head of demo does not run", stops(1)),
  ],
  ["stop, hooks run: nothing", stopping, [aNode(0, leads())], [], [aLifecycle()]],
  ["stop, jobs end: nothing", stopping, [aNode(0, leads({ status: "JOBS" }))], [], [aLifecycle()]],
  [
    "stop, hooks run and shall not any more",
    { ...stopping, skipHooks: true },
    [aNode(0, leads())],
    [begin],
    [aLifecycle()],
  ],
  [
    "stop, hooks run, and the head was told that they shall not",
    { ...stopping, skipHooks: true },
    [aNode(0, leads())],
    [],
    [aLifecycle({ skipsHooks: true })],
  ],
  [
    "stop meets a preemption: they are joined",
    stopping,
    [aNode(0, leads({ events: ["preemption"] }))],
    [begin],
    [aLifecycle({ events: ["preemption"] })],
  ],
  [
    "stop meets an idle stop that nobody knows of",
    stopping,
    [aNode(0, leads({ cause: "idle", known: "new" }))],
    [[{ do: "adopt", rank: 0 }]],
  ],
  [
    "stop meets a teardown that was taken back",
    stopping,
    [aNode(0, leads({ events: ["down"] }))],
    [takeBack],
    [aLifecycle({ events: ["down"] })],
  ],
  [
    "stop meets what the stop before left at the head",
    stopping,
    [aNode(0, leads({ status: "READY", known: "over" }))],
    [takeBack],
  ],
  [
    "stop, the head may go: logs, then no way back",
    stopping,
    [aNode(0, leads({ status: "READY" }))],
    [...farewell, stops(0)],
    [aLifecycle()],
  ],
  [
    "stop, leaving: nodes stop side by side, whatever their head leads",
    { ...pair, ...stopping },
    [aNode(0, leads()), aNode(1)],
    [stops(0, 1)],
    [aLifecycle({ status: "LEAVING" })],
  ],
  [
    "stop, the head turned itself off while nobody was there",
    stopping,
    [aNode(0, off)],
    without("the head of demo turned itself off before it could report how its hooks ended"),
    [aLifecycle({ cause: "idle" })],
  ],
  [
    "stop, all are off",
    stopping,
    [aNode(0, off)],
    [[{ do: "move", to: "STOPPED", reason: "stop by ada" }]],
    [aLifecycle({ status: "LEAVING" })],
  ],
  [
    "stop before there is a node",
    { ...stopping, status: "INIT", everUp: false },
    [],
    [[{ do: "move", to: "STOPPED", reason: "stop by ada" }]],
  ],
  [
    "stop of one that was never up: no hooks",
    { ...stopping, status: "INIT", everUp: false },
    [aNode(0)],
    [stops(0)],
  ],
  [
    "stop of one that is half built but was up",
    { ...stopping, status: "INIT" },
    [aNode(0)],
    [begin],
  ],
  ["stopped and wanted so: nothing", { ...stopping, status: "STOPPED" }, [aNode(0, off)], []],
  [
    "stopped and wanted so, a node was turned on by somebody",
    { ...stopping, status: "STOPPED" },
    [aNode(0)],
    [stops(0)],
  ],

  ["down: the head begins", { ...pair, ...leaving }, [aNode(0), aNode(1)], [begin]],
  [
    "down meets the hooks of a stop: they become those of a teardown",
    leaving,
    [aNode(0, leads())],
    [begin],
    [aLifecycle()],
  ],
  [
    "down, hooks run: nothing",
    leaving,
    [aNode(0, leads({ events: ["down"] }))],
    [],
    [aLifecycle({ events: ["down"] })],
  ],
  [
    "down, leaving: nodes go side by side",
    { ...pair, ...leaving },
    [aNode(0), aNode(1)],
    [destroys(0, 1)],
    [aLifecycle({ events: ["down"], status: "LEAVING" })],
  ],
  [
    "down meets a stop of which one node is off already: the other one stops first",
    { ...leaving, ...pair },
    [aNode(0, off), aNode(1)],
    [stops(1)],
    [aLifecycle({ status: "LEAVING" })],
  ],
  [
    "down meets a stop that the provider was asked for: that ends first",
    leaving,
    [aNode(0)],
    [stops(0)],
    [aLifecycle({ status: "LEAVING" })],
  ],
  [
    "down meets a stop that has just ended: that is told",
    leaving,
    [aNode(0, off)],
    [[{ do: "move", to: "STOPPED", reason: "stop by ada" }]],
    [aLifecycle({ status: "LEAVING" })],
  ],
  [
    "down meets a stop that the provider cannot do",
    { ...leaving, problem: { type: "CloudError", message: "closed", details: {} } },
    [aNode(0)],
    [destroys(0)],
    [aLifecycle({ status: "LEAVING" })],
  ],
  [
    "down of a stopped cluster: no hooks",
    { ...leaving, status: "STOPPED" },
    [aNode(0, off)],
    without("hooks skipped: cluster demo is stopped", destroys(0)),
  ],
  [
    "down of one whose head is gone",
    { ...pair, ...leaving },
    [aNode(1)],
    without("hooks skipped: the head of demo does not run", destroys(1)),
  ],
  [
    "down, nothing is left",
    leaving,
    [],
    [[{ do: "move", to: "GONE", reason: "down by ada" }]],
    [aLifecycle({ events: ["down"], status: "LEAVING" })],
  ],

  [
    "stop, the head may go, a worker saves something: it is waited for",
    { ...pair, ...stopping },
    [aNode(0, leads({ status: "READY" })), aNode(1)],
    [],
    [aLifecycle(), taken],
  ],
  [
    "stop, the head may go, a worker has had its time",
    { ...pair, ...stopping },
    [aNode(0, leads({ status: "READY" })), aNode(1)],
    [...farewell, stops(0, 1)],
    [aLifecycle(), { ...taken, deadlineAt: now }],
  ],
  [
    "stop, the head may go, a worker is ready too",
    { ...pair, ...stopping },
    [aNode(0, leads({ status: "READY" })), aNode(1)],
    [...farewell, stops(0, 1)],
    [aLifecycle(), { ...taken, status: "READY" }],
  ],
  [
    "stop, the head is gone, a worker saves something: it is waited for",
    { ...pair, ...stopping },
    [aNode(1)],
    [],
    [taken],
  ],
  [
    "stop without hooks, a worker runs some: it is told",
    { ...pair, ...stopping, skipHooks: true },
    [aNode(0, leads()), aNode(1)],
    [[{ do: "skipHooks", rank: 1, id: "l2" }]],
    [aLifecycle(), taken],
  ],
  [
    "stop without hooks, a worker was told: nobody waits for it",
    { ...pair, ...stopping, skipHooks: true },
    [aNode(0, leads({ status: "READY" })), aNode(1)],
    [...farewell, stops(0, 1)],
    [aLifecycle({ skipsHooks: true }), { ...taken, skipsHooks: true }],
  ],
  [
    "down, the head was lost with a hook",
    { ...pair, ...leaving },
    [aNode(1)],
    without("hook 2 of 3 (down) ran when node 0 was lost", destroys(1)),
    [aLifecycle({ events: ["down"], hooks: 3, runs: [aRun({ index: 1, event: "down" })] })],
  ],
];

testPlans(cases);
