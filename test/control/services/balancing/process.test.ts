import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { connect, createServer } from "node:net";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import { type BalancerHealth, earlierLogOf } from "../../../../contract/balancer-api.ts";
import type { Context } from "../../../../control/context.ts";
import { agentBehind } from "../../../../control/doors/agent.ts";
import { openUnixDoor } from "../../../../control/doors/unix.ts";
import { type Balancers, openBalancers } from "../../../../control/services/balancing/balancers.ts";
import type { Plan } from "../../../../control/services/balancing/kept.ts";
import { healthOf } from "../../../../control/services/balancing/process.ts";
import { balancerLogOf, serviceFolder } from "../../../../control/services/folders.ts";
import { until } from "../../../helpers/agent.ts";
import { kill } from "../../../helpers/programs.ts";
import { testWorld } from "../../../helpers/world.ts";
import { aService } from "../rows.ts";

/** Real balancers, as processes. */

const { signal } = new AbortController();
const service = aService();
const nothing: Plan = {
  policy: "least_load",
  probes: {},
  replicas: [],
  tls: null,
  hold: { requests: 0, ms: 0 },
};

/** A world whose balancer is gone before its folder is, whatever a test did to it. */
async function withBalancers(t: TestContext): Promise<Context> {
  let ctx: Context | undefined;
  t.after(async () => {
    for (const pid of ctx === undefined ? [] : await pidsOf(ctx)) kill(pid);
  });
  ctx = (await testWorld(t)).ctx;
  return ctx;
}

/** Whoever answers now. */
async function pidsOf(ctx: Context): Promise<number[]> {
  const pids = await Promise.all(socketsOf(ctx).map(pidAt));
  return pids.filter((pid) => pid !== undefined);
}

const socketsOf = (ctx: Context): string[] => {
  const folder = serviceFolder(ctx, service.id);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.endsWith(".sock")).map((name) => join(folder, name));
};

/** Who answers at a socket. */
const pidAt = async (socket: string): Promise<number | undefined> => (await healthAt(socket))?.pid;

async function healthAt(socket: string): Promise<BalancerHealth | undefined> {
  const door = openUnixDoor(socket);
  return healthOf(agentBehind(door, "it"), signal).finally(() => door.destroy());
}

/** Where clients connect. */
async function portOf(ctx: Context): Promise<number> {
  const [health] = await Promise.all(socketsOf(ctx).map(healthAt));
  return health?.listen.port ?? assert.fail("nobody answers");
}

async function pidOf(ctx: Context): Promise<number> {
  const [pid] = await pidsOf(ctx);
  return pid ?? assert.fail("nobody answers");
}

/** As another control plane has them, after the one before. */
function anew(t: TestContext, ctx: Context): Balancers {
  const balancers = openBalancers(() => ctx);
  t.after(() => balancers.stop());
  return balancers;
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("a balancer that is kept is started once, told a plan once, and heard", async (t) => {
  const ctx = await withBalancers(t);
  const { balancers } = ctx;

  await balancers.keep(service, signal);
  const pid = await pidOf(ctx);
  await balancers.keep(service, signal);
  await balancers.plan(service, nothing, signal);
  const { revision } = balancers.told(service.id) ?? {};
  await balancers.plan(service, { ...nothing }, signal);

  assert.equal(await pidOf(ctx), pid);
  assert.equal(balancers.told(service.id)?.revision, revision);
  await until(() => balancers.seen(service.id)?.revision === revision || undefined);
  await balancers.plan(service, { ...nothing, hold: { requests: 1, ms: 1 } }, signal);
  assert.ok((balancers.told(service.id)?.revision ?? 0) > (revision ?? 0));
});

test("it is adopted by the control plane after, whose plans overtake the ones before", async (t) => {
  const ctx = await withBalancers(t);
  await ctx.balancers.keep(service, signal);
  await ctx.balancers.plan(service, nothing, signal);
  const pid = await pidOf(ctx);
  await ctx.balancers.stop();

  const next = anew(t, ctx);
  await next.keep(service, signal);
  await next.plan(service, nothing, signal);

  assert.equal(await pidOf(ctx), pid);
  const { revision } = next.told(service.id) ?? {};
  await until(() => next.seen(service.id)?.revision === revision || undefined);
});

test("one that was killed is started again", async (t) => {
  const ctx = await withBalancers(t);
  await ctx.balancers.keep(service, signal);
  const pid = await pidOf(ctx);
  process.kill(pid, "SIGKILL");
  await until(() => !isAlive(pid) || undefined);

  await until(async () =>
    ctx.balancers.keep(service, signal).then(
      () => true,
      () => undefined,
    ),
  );

  assert.notEqual(await pidOf(ctx), pid);
});

test("one that is only busy stays, and no other takes its place", async (t) => {
  const ctx = await withBalancers(t);
  await ctx.balancers.keep(service, signal);
  const pid = await pidOf(ctx);
  t.after(() => isAlive(pid) && process.kill(pid, "SIGCONT"));
  process.kill(pid, "SIGSTOP");

  const kept = ctx.balancers.keep(service, signal);
  const impatient = AbortSignal.timeout(500);
  const other = anew(t, ctx);
  await assert.rejects(other.keep(service, impatient));
  process.kill(pid, "SIGCONT");
  await kept;

  assert.equal(await pidOf(ctx), pid);
});

test("whoever takes a call and does not answer is there, and so none takes its place", async (t) => {
  const ctx = await withBalancers(t);
  const socket = join(ctx.config.home, "deaf.sock");
  const deaf = createServer((connection) => connection.destroy()).listen(socket);
  await once(deaf, "listening");
  t.after(() => deaf.close());

  await assert.rejects(pidAt(socket), { name: "UnreachableError" });
  assert.equal(await pidAt(join(ctx.config.home, "nobody.sock")), undefined);
});

test("one of another build goes on until its successor listens, and then ends", async (t) => {
  const ctx = await withBalancers(t);
  await ctx.balancers.keep(service, signal);
  await ctx.balancers.plan(service, nothing, signal);
  const old = await pidOf(ctx);
  await ctx.balancers.stop();
  const [socket = ""] = socketsOf(ctx);
  const olds = join(serviceFolder(ctx, service.id), "older.sock");
  renameSync(socket, olds);

  const next = anew(t, ctx);
  await next.keep(service, signal);
  const before = await pidAt(olds);
  await next.plan(service, nothing, signal);
  await until(() => !isAlive(old) || undefined);

  assert.equal(before, old, "it is there until the other one listens");
  assert.deepEqual(socketsOf(ctx), [socket]);
  assert.notEqual(await pidOf(ctx), old);
  await next.end(service, 0, signal);
});

test("no plan is told for all while one of another build finishes what it has", async (t) => {
  const ctx = await withBalancers(t);
  await ctx.balancers.keep(service, signal);
  await ctx.balancers.plan(service, { ...nothing, hold: { requests: 1, ms: 600_000 } }, signal);
  const client = connect(await portOf(ctx), service.host);
  t.after(() => client.destroy());
  client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await until(() => ctx.balancers.seen(service.id)?.held === 1 || undefined);
  await ctx.balancers.stop();
  const [socket = ""] = socketsOf(ctx);
  renameSync(socket, join(serviceFolder(ctx, service.id), "older.sock"));

  const next = anew(t, ctx);
  await next.keep(service, signal);
  await next.plan(service, nothing, signal);
  const meanwhile = next.told(service.id);
  client.destroy();

  await until(() => next.told(service.id));
  assert.equal(meanwhile, undefined);
  await next.end(service, 0, signal);
});

/** A balancer of another build that finishes what it has, and the control plane that had it do so. */
async function withLeaving(t: TestContext) {
  const ctx = await withBalancers(t);
  await ctx.balancers.keep(service, signal);
  await ctx.balancers.plan(service, { ...nothing, hold: { requests: 1, ms: 600_000 } }, signal);
  const client = connect(await portOf(ctx), service.host).on("error", () => {});
  t.after(() => client.destroy());
  client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await until(() => ctx.balancers.seen(service.id)?.held === 1 || undefined);
  const pid = await pidOf(ctx);
  t.after(() => isAlive(pid) && process.kill(pid, "SIGKILL"));
  await ctx.balancers.stop();
  const [socket = ""] = socketsOf(ctx);
  renameSync(socket, socket.replace(/\w+\.sock$/, "older.sock"));
  const next = anew(t, ctx);
  await next.keep(service, signal);
  await next.plan(service, nothing, signal);
  await next.stop();
  return { ctx, client, pid };
}

test("one of another build that ends is found again by the control plane after", async (t) => {
  const { ctx, client, pid } = await withLeaving(t);

  const last = anew(t, ctx);
  await last.keep(service, signal);
  await last.plan(service, nothing, signal);
  const meanwhile = last.told(service.id);
  const wasThere = isAlive(pid);
  client.destroy();

  await until(() => last.told(service.id));
  assert.deepEqual([meanwhile, wasThere], [undefined, true]);
  await last.end(service, 0, signal);
  await until(() => !isAlive(pid) || undefined);
});

test("one that still ends is ended with its service, also by the control plane after", async (t) => {
  const { ctx, pid } = await withLeaving(t);
  const folder = serviceFolder(ctx, service.id);
  const [left = ""] = readdirSync(folder).filter((name) => name.endsWith(".left"));
  const [socket = ""] = socketsOf(ctx);
  // The name of its own build, which this test took from it.
  const own = left.replace("older", basename(socket, ".sock"));
  renameSync(join(folder, left), join(folder, own));

  await anew(t, ctx).end(service, 0, signal);

  await until(() => !isAlive(pid) || undefined);
  assert.deepEqual(await pidsOf(ctx), []);
});

test("its log is a file that it begins anew itself", async (t) => {
  const ctx = await withBalancers(t);
  await ctx.balancers.keep(service, signal);
  const log = balancerLogOf(ctx, service.id);
  await until(() => readFileSync(log, "utf8").includes("waits for its plan") || undefined);

  renameSync(log, earlierLogOf(log));
  await ctx.balancers.end(service, 0, signal);

  await until(() => (existsSync(log) && readFileSync(log, "utf8").includes("ended")) || undefined);
});

test("one that cannot start says why, and where its log is", async (t) => {
  const ctx = await withBalancers(t);
  const buried = { ...service, id: "x".repeat(100) };

  await assert.rejects(ctx.balancers.keep(buried, signal), {
    name: "RuntimeError",
    message: /the balancer of chat does not start: it ended with \d; its log: .*balancer\.log$/,
  });
});

test("one that cannot listen says so once it is told its plan", async (t) => {
  const ctx = await withBalancers(t);
  const nowhere = { ...service, host: "no host" };
  await ctx.balancers.keep(nowhere, signal);

  await assert.rejects(ctx.balancers.plan(nowhere, nothing, signal), {
    name: "ConfigError",
    message: /no host/,
  });

  assert.equal(ctx.balancers.told(service.id), undefined);
});
