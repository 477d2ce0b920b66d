import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { pino } from "pino";
import { type Dispatcher, Pool } from "undici";
import { clusterOperations as clusters } from "../../contract/operations/clusters.ts";
import { authorize } from "../../control/access/authorize.ts";
import { sessionCookie } from "../../control/access/cookies.ts";
import { digestOf } from "../../control/access/digest.ts";
import type { Identity } from "../../control/access/identity.ts";
import { addAudit } from "../../control/audit/store.ts";
import { readConfig } from "../../control/config.ts";
import { type Database, openDatabase } from "../../control/db/open.ts";
import { openCallers } from "../../control/http/callers.ts";
import { closeContext, openContext } from "../../control/open.ts";
import { addRequest } from "../../control/requests/store.ts";
import { addSession } from "../../control/sessions/store.ts";
import { tokenPrefix } from "../../control/tokens/schema.ts";
import { addToken } from "../../control/tokens/store.ts";
import { addUser } from "../../control/users/store.ts";
import type { Figure } from "./figures.ts";
import type { Control, Lab } from "./lab.ts";
import { cpuMs, quantile, timeOf } from "./measure.ts";
import { addClusters } from "./rows.ts";

const users = 10_000;
const entries = 100_000;
const calls = 5_000;
const warmUps = 500;

/** What it costs to know who calls and whether they may, and to write that down. */
export async function access(lab: Lab): Promise<Figure[]> {
  const home = lab.folder();
  const db = await openDatabase(join(home, "control/state.db"));
  await seed(db);
  await addClusters(home, 10);
  const work = await measureWork(home, db);
  await db.destroy();
  const full = await lab.control("bundle", home, { OUTRIGGER_LOGIN: "token" });
  const bare = await lab.control("bundle");
  return [
    ...(await measureReads(bare, full, "token")),
    ...(await measureReads(bare, full, "session")),
    ...work,
  ];
}

/** What a call of a user carries, by the kind of its credential. */
const credentials: Readonly<Record<string, (index: number) => Record<string, string>>> = {
  token: (index) => ({ authorization: `Bearer ${secretOf(index)}` }),
  session: (index) => ({ cookie: `${sessionCookie}=${sessionOf(index)}` }),
};
const sessionOf = (index: number) => String(index).padStart(43, "s");
const secretOf = (index: number) => `${tokenPrefix}bench-${index}`;

/** Users who have a token and a session each. */
async function seed(db: Database): Promise<void> {
  await db.transaction().execute(async (tx) => {
    for (let index = 0; index < users; index += 1) {
      const [id, createdAt] = [`sa-${index}`, Date.now()];
      const account = { id, name: `sa:t${index}`, kind: "sa" as const, role: "user" as const };
      await addUser(tx, { ...account, groups: [], preferredWorkspace: null, createdAt });
      const creator = { creatorId: "u0", creatorName: "ada" };
      const uses = { createdAt, expiresAt: null, lastUsedAt: Date.now() + 3_600_000 };
      const token = { id: `t${index}`, name: `t${index}`, userId: id, ...creator, ...uses };
      await addToken(tx, token, digestOf(secretOf(index)));
      const digest = digestOf(sessionOf(index));
      const session = { userId: id, method: "password", expiresAt: Date.now() + 3_600_000 };
      await addSession(tx, { digest, createdAt, ...session });
    }
    for (let index = 0; index < entries; index += 1) await addAudit(tx, anEntry(index));
  });
}

const anEntry = (index: number) => ({
  ...{ at: Date.now(), userId: `sa-${index % users}`, userName: "sa:t", credential: "token t" },
  ...{
    address: "10.0.0.1",
    operation: "stop",
    subject: "cluster demo",
    outcome: "allowed" as const,
  },
  ...{ reason: null, requestId: `r${index}` },
});

/** The same calls to a control plane that knows its callers and to one that serves its own user, in turns. */
async function measureReads(bare: Control, full: Control, kind: string): Promise<Figure[]> {
  const pools = [new Pool(bare.endpoint), new Pool(full.endpoint)] as const;
  const times: [number[], number[]] = [[], []];
  const cpu = [0, 0];
  for (let call = -warmUps; call < calls; call += 1) {
    if (call === 0) [cpu[0], cpu[1]] = [cpuMs(bare.pid), cpuMs(full.pid)];
    const headers = credentials[kind]?.((call + warmUps) % users);
    const [first, second] = [
      await timeOf(() => ask(pools[0])),
      await timeOf(() => ask(pools[1], headers)),
    ];
    if (call >= 0) {
      times[0].push(first);
      times[1].push(second);
    }
  }
  await Promise.all(pools.map((pool) => pool.destroy()));
  const added = (share: number) => quantile(times[1], share) - quantile(times[0], share);
  const cpuAdded = cpuMs(full.pid) - (cpu[1] ?? 0) - (cpuMs(bare.pid) - (cpu[0] ?? 0));
  const what = `access check by ${kind}, ${users} users, ${entries} audit entries: added`;
  return [
    { what: `${what}, p50`, measured: added(0.5), unit: "ms" },
    { what: `${what}, p99`, measured: added(0.99), unit: "ms", target: { atMost: 0.2 } },
    { what: `${what}, CPU time of control`, measured: cpuAdded / calls, unit: "ms" },
    { what: "a call without the check: p50", measured: quantile(times[0], 0.5), unit: "ms" },
  ];
}

async function ask(pool: Pool, headers: Record<string, string> = {}): Promise<void> {
  const options: Dispatcher.RequestOptions = { method: "GET", path: "/users/role", headers };
  const { statusCode, body } = await pool.request(options);
  await body.dump();
  if (statusCode !== 200) throw new Error(`answered ${statusCode}`);
}

/**
 * The work of the check alone, in this process: CPU time, which others on the machine do not change. Whose
 * call it is, whether its role and the workspace of its cluster allow it, and the entry about it.
 */
async function measureWork(home: string, db: Database): Promise<Figure[]> {
  const settings = readConfig({ OUTRIGGER_HOME: home, OUTRIGGER_LOGIN: "token" });
  const ctx = await openContext(settings, pino({ level: "silent" }));
  const callers = openCallers(ctx, createServer());
  const checks: number[] = [];
  const audits: number[] = [];
  for (let call = -warmUps; call < calls; call += 1) {
    const headers = credentials["token"]?.((call + warmUps) % users);
    const req = { headers } as IncomingMessage;
    const check = await cpuOf(async () => {
      const identity = (await callers.identify(req)) as Identity;
      await authorize(ctx, clusters.stop, { cluster_name: "seeded-1" } as never, identity);
    });
    const audit = await db.transaction().execute(async (tx) => {
      await addRequest(tx, aRequest(`r${call}`));
      return cpuOf(() => addAudit(tx, anEntry(call)));
    });
    if (call >= 0) [checks.push(check), audits.push(audit)];
  }
  await db.deleteFrom("requests").execute();
  await closeContext(ctx);
  const target = { atMost: 0.2 };
  return [
    { what: "CPU time of the check: p50", measured: quantile(checks, 0.5), unit: "ms" },
    { what: "CPU time of the check: p99", measured: quantile(checks, 0.99), unit: "ms", target },
    { what: "CPU time of an entry: p50", measured: quantile(audits, 0.5), unit: "ms" },
    { what: "CPU time of an entry: p99", measured: quantile(audits, 0.99), unit: "ms", target },
  ];
}

async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

const aRequest = (id: string) => ({
  ...{ id, name: "stop", queue: "short" as const, userId: "u0", userName: "ada" },
  ...{ clusterName: "demo", clientApi: null, workspace: "default", credential: "token t" },
  ...{ input: new Uint8Array(400), createdAt: Date.now() },
});
