import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, renameSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { earlierLogOf } from "../../../../contract/balancer-api.ts";
import { balancerLogOf } from "../../../../control/services/folders.ts";
import { until } from "../../../helpers/agent.ts";
import { anew, isAlive, nothing, pidAt, pidOf, service, signal, withBalancers } from "./bed.ts";

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
    message: /the balancer of chat does not start: it ended with \d+; its log: .*balancer\.log$/,
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
