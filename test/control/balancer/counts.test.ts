import assert from "node:assert/strict";
import { Agent, type IncomingMessage, request } from "node:http";
import { test } from "node:test";
import fc from "fast-check";
import { type Answer, aBalancer, aProbe, type Bed, servers } from "./bed.ts";

/** What a replica may do with a request. */
const answers = {
  answers: (_, res) => void res.end("ok"),
  streams: (_, res) => {
    res.write("a");
    setImmediate(() => res.end("b"));
  },
  breaksOff: (req) => void req.socket.destroy(),
  cuts: (req, res) => {
    res.writeHead(200, { "content-length": 9 }).write("a", () => req.socket.destroy());
  },
  switches: (req, res) => {
    res.writeHead(101, { connection: "upgrade", upgrade: "websocket" }).flushHeaders();
    req.socket.end();
  },
  isSilent: () => {},
} satisfies Record<string, Answer>;

/** What a client may do meanwhile. */
const clients = {
  waits: (_bed, path, agent) => ask(agent, path),
  posts: (_bed, path, agent) => ask(agent, path, "POST", "body"),
  upgrades: (_bed, path, agent) => ask(agent, path, "GET", undefined, true),
  leavesAtOnce: async (_bed, path, agent) => {
    const req = request({ ...place(agent), path, agent: false });
    req.on("error", () => {});
    req.end(() => setImmediate(() => req.destroy()));
    await new Promise((resolve) => req.once("close", resolve));
  },
  leavesAmidItsBody: async (_bed, path, agent) => {
    const headers = { "content-length": 100 };
    const req = request({ ...place(agent), path, method: "POST", headers, agent: false });
    req.on("error", () => {});
    req.write("part", () => setImmediate(() => req.destroy()));
    await new Promise((resolve) => req.once("close", resolve));
  },
} satisfies Record<string, (bed: Bed, path: string, agent: Asking) => Promise<void>>;

interface Asking {
  readonly port: number;
  readonly agent: Agent;
}

const place = ({ port }: Asking) => ({ host: "127.0.0.1", port });

/** Asks, and waits for whatever end it has. */
function ask(
  asking: Asking,
  path: string,
  method = "GET",
  body?: string,
  isUpgrade = false,
): Promise<void> {
  const headers = isUpgrade ? { connection: "upgrade", upgrade: "websocket" } : {};
  const { agent } = asking;
  const req = request({ ...place(asking), path, method, agent, headers });
  const { promise, resolve } = Promise.withResolvers<void>();
  req.once("error", () => resolve());
  req.once("upgrade", (_, socket) => {
    socket.once("close", () => resolve()).resume();
    socket.on("error", () => {}).end();
  });
  req.once("response", (answer: IncomingMessage) => {
    answer.once("error", () => {}).once("close", () => resolve());
    answer.resume();
  });
  req.end(body);
  return promise;
}

const kinds = Object.keys(answers) as (keyof typeof answers)[];
const meetings = fc.array(
  fc.record({
    server: fc.constantFrom(...kinds),
    client: fc.constantFrom(...(Object.keys(clients) as (keyof typeof clients)[])),
  }),
  { minLength: 1, maxLength: 12 },
);

test("all counts are 0 once all requests have ended, whatever their end", async (t) => {
  const all = await servers(t, 3);
  for (const one of all)
    one.answer = (req, res) => {
      const kind = kinds.find((name) => req.url === `/${name}`) ?? "answers";
      req.on("error", () => {}).resume();
      answers[kind](req, res);
    };
  const bed = await aBalancer(t, { upstreamMs: 100, stalledMs: 100 });
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const probes = { 1: aProbe({ failureThreshold: 1_000 }) };
  await bed.plan(all, { probes, hold: { requests: 5, ms: 20 } });
  await bed.ready(1, 2, 3);
  const policies = ["round_robin", "least_load", "instance_aware_least_load"] as const;

  await fc.assert(
    fc.asyncProperty(
      meetings,
      fc.constantFrom(...policies),
      fc.nat(3),
      async (pairs, policy, gone) => {
        const staying = all.slice(gone);
        const begun = pairs.map(({ client, server }) =>
          clients[client](bed, `/${server}`, { port: bed.entrance.place.port, agent }),
        );
        await bed.plan(staying, { probes, policy, hold: { requests: 5, ms: 20 } });
        await Promise.all(begun);
        await bed.report(({ open, held, replicas }) => {
          const counts = [open, held, ...replicas.map((replica) => replica.open)];
          assert.ok(
            counts.every((count) => count >= 0),
            String(counts),
          );
          return counts.every((count) => count === 0);
        });
        await bed.plan(all, { probes });
        await bed.ready(1, 2, 3);
      },
    ),
    { numRuns: 30 },
  );
});
