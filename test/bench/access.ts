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
import type { Context } from "../../control/context.ts";
import { type Database, openDatabase } from "../../control/db/open.ts";
import { type Callers, openCallers } from "../../control/http/callers.ts";
import { closeContext, openContext } from "../../control/open.ts";
import { addRequest } from "../../control/requests/store.ts";
import { addSession } from "../../control/sessions/store.ts";
import { tokenPrefix } from "../../control/tokens/schema.ts";
import { addToken } from "../../control/tokens/store.ts";
import { addUser } from "../../control/users/store.ts";
import type { Figure } from "./figures.ts";
import type { Control, Lab } from "./lab.ts";
import { cpuMs, median, quantile, timeOf } from "./measure.ts";
import { addClusters } from "./rows.ts";

const users = 10_000;
const entries = 100_000;
/** So many that the median of their p99 holds still: a p99 alone is what the machine did just then. */
const rounds = 100;
const warmUpRounds = 3;
/** In each round, so that p99 leaves a few of them out. */
const calls = 400;

/** What it costs to know who calls and whether they may, and to write that down. */
export async function access(lab: Lab): Promise<Figure[]> {
  const home = lab.folder();
  const db = await openDatabase(join(home, "control/state.db"));
  await seed(db);
  await addClusters(home, 10);
  await db.destroy();
  const work = await measureWork(home);
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

/** The times in ms of the same calls, without the check and with it. */
interface Round {
  readonly bare: number[];
  readonly full: number[];
}

/**
 * The same calls to a control plane that knows its callers and to one that serves its own user, in turns.
 * What the check adds to a quantile is the difference of the quantiles of both, in the median of many rounds:
 * others on the machine disturb some rounds, and the calls of a round alike.
 */
async function measureReads(bare: Control, full: Control, kind: string): Promise<Figure[]> {
  const pools = { bare: new Pool(bare.endpoint), full: new Pool(full.endpoint) };
  const measured: Round[] = [];
  let cpuBefore = 0;
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    if (round === 0) cpuBefore = cpuMs(full.pid) - cpuMs(bare.pid);
    const times = await measureRound(pools, kind);
    if (round >= 0) measured.push(times);
  }
  const cpuAdded = cpuMs(full.pid) - cpuMs(bare.pid) - cpuBefore;
  await Promise.all(Object.values(pools).map((pool) => pool.destroy()));
  const added = (share: number) =>
    median(measured.map((one) => quantile(one.full, share) - quantile(one.bare, share)));
  const what = `access check by ${kind}, ${users} users, ${entries} audit entries: added`;
  const without = median(measured.map((one) => quantile(one.bare, 0.5)));
  return [
    { what: `${what}, p50`, measured: added(0.5), unit: "ms" },
    { what: `${what}, p99`, measured: added(0.99), unit: "ms", target: { atMost: 0.2 } },
    { what: `${what}, CPU time of control`, measured: cpuAdded / (rounds * calls), unit: "ms" },
    { what: "a call without the check: p50", measured: without, unit: "ms" },
  ];
}

/** A call of either control plane after the other; which is the first changes from pair to pair. */
async function measureRound(pools: { bare: Pool; full: Pool }, kind: string): Promise<Round> {
  const times: Round = { bare: [], full: [] };
  for (let call = 0; call < calls; call += 1) {
    const headers = credentials[kind]?.(Math.floor(Math.random() * users));
    const pair = [
      async () => times.bare.push(await timeOf(() => ask(pools.bare))),
      async () => times.full.push(await timeOf(() => ask(pools.full, headers))),
    ];
    for (const one of call % 2 === 0 ? pair : pair.reverse()) await one();
  }
  return times;
}

async function ask(pool: Pool, headers: Record<string, string> = {}): Promise<void> {
  const options: Dispatcher.RequestOptions = { method: "GET", path: "/users/role", headers };
  const { statusCode, body } = await pool.request(options);
  await body.dump();
  if (statusCode !== 200) throw new Error(`answered ${statusCode}`);
}

/**
 * The work of the check alone, in this process: CPU time, which others on the machine change little. Whose
 * call it is, whether its role and the workspace of its cluster allow it, and the entry about it. Quantiles
 * are those of the calls of a round, in the median of the rounds.
 */
async function measureWork(home: string): Promise<Figure[]> {
  const settings = readConfig({ OUTRIGGER_HOME: home, OUTRIGGER_LOGIN: "token" });
  const ctx = await openContext(settings, pino({ level: "silent" }));
  const callers = openCallers(ctx, createServer());
  const measured: { checks: number[]; audits: number[] }[] = [];
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    const checks: number[] = [];
    const audits: number[] = [];
    for (let call = 0; call < calls; call += 1) checks.push(await cpuOf(() => check(ctx, callers)));
    // Not in turns with the checks: what a commit leaves to the kernel would be counted as theirs.
    for (let call = 0; call < calls; call += 1)
      audits.push(await auditOne(ctx, `r${round}-${call}`));
    if (round >= 0) measured.push({ checks, audits });
  }
  await ctx.batch((tx) => tx.deleteFrom("requests").execute());
  await closeContext(ctx);
  const figure = (what: string, kind: "checks" | "audits", share: number) => ({
    what: `CPU time of ${what}: p${share * 100}`,
    measured: median(measured.map((one) => quantile(one[kind], share))),
    unit: "ms",
    target: share > 0.5 ? { atMost: 0.2 } : undefined,
  });
  return [
    ...[0.5, 0.99].map((share) => figure("the check", "checks", share)),
    ...[0.5, 0.99].map((share) => figure("an entry", "audits", share)),
  ];
}

async function check(ctx: Context, callers: Callers): Promise<void> {
  const headers = credentials["token"]?.(Math.floor(Math.random() * users));
  const identity = (await callers.identify({ headers } as IncomingMessage)) as Identity;
  await authorize(ctx, clusters.stop, { cluster_name: "seeded-1" } as never, identity);
}

/** What an entry costs beside the request that it is about. */
const auditOne = (ctx: Context, id: string): Promise<number> =>
  ctx.batch(async (tx) => {
    await addRequest(tx, aRequest(id));
    return cpuOf(() => addAudit(tx, anEntry(0)));
  });

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
