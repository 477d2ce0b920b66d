import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { findProcess } from "../../../../common/process-tree.ts";
import { openBalancers } from "../../../../control/services/balancing/balancers.ts";
import { serviceFolder } from "../../../../control/services/folders.ts";
import { until } from "../../../helpers/agent.ts";
import {
  anew,
  hold,
  isAlive,
  keepOlder,
  nothing,
  pidAt,
  pidOf,
  pidsOf,
  service,
  signal,
  socketsOf,
  withBalancers,
  withHeld,
} from "./bed.ts";

/** Balancers in whose place others come. */

test("one of another build goes on until its successor listens, and then ends", async (t) => {
  const ctx = await withBalancers(t);
  const old = await keepOlder(t, ctx);
  await ctx.balancers.plan(service, nothing, signal);
  await ctx.balancers.stop();
  const [olds = ""] = socketsOf(ctx);

  const next = anew(t, ctx);
  await next.keep(service, signal);
  const before = await pidAt(olds);
  const [successor = 0] = (await pidsOf(ctx)).filter((pid) => pid !== old);
  const parent = findProcess(successor)?.parent;
  await next.plan(service, nothing, signal);
  await until(() => !isAlive(old) || undefined);

  assert.equal(before, old, "it is there until the other one listens");
  assert.equal(parent, old, "it inherits the sockets");
  assert.equal(socketsOf(ctx).includes(olds), false);
  assert.notEqual(await pidOf(ctx), old);
  await next.end(service, 0, signal);
});

test("one of another build that hangs keeps no successor from starting", async (t) => {
  const ctx = await withBalancers(t);
  const old = await keepOlder(t, ctx);
  await ctx.balancers.stop();
  process.kill(old, "SIGSTOP");
  t.after(() => isAlive(old) && process.kill(old, "SIGKILL"));

  const next = anew(t, ctx);
  await next.keep(service, signal);

  process.kill(old, "SIGKILL");
  await until(() => !isAlive(old) || undefined);
  assert.notEqual(await pidOf(ctx), old);
  await next.end(service, 0, signal);
});

test("no plan is told for all while one of another build finishes what it has", async (t) => {
  const ctx = await withBalancers(t);
  await keepOlder(t, ctx);
  const client = await hold(t, ctx);
  await ctx.balancers.stop();

  const next = anew(t, ctx);
  await next.keep(service, signal);
  await next.plan(service, nothing, signal);
  const meanwhile = next.told(service.id);
  client.destroy();

  await until(() => next.told(service.id));
  assert.equal(meanwhile, undefined);
  await next.end(service, 0, signal);
});

test("one that is told to end by others has a successor at once, and is waited for", async (t) => {
  const ctx = await withBalancers(t);
  const { balancers } = ctx;
  const client = await withHeld(t, ctx);
  const old = await pidOf(ctx);
  t.after(() => isAlive(old) && process.kill(old, "SIGKILL"));

  process.kill(old, "SIGTERM");
  await until(() => socketsOf(ctx).length === 0 || undefined);
  await balancers.keep(service, signal);
  await balancers.plan(service, nothing, signal);
  const meanwhile = balancers.told(service.id);
  const wasThere = isAlive(old);
  const successor = await pidOf(ctx);
  client.destroy();

  await until(() => balancers.told(service.id));
  assert.deepEqual([meanwhile, wasThere], [undefined, true]);
  assert.notEqual(successor, old);
  const left = () =>
    readdirSync(serviceFolder(ctx, service.id)).some((one) => one.endsWith("left"));
  await until(() => !left() || undefined);
  assert.equal(await pidOf(ctx), successor, "the socket is the newer one's by now");
});

test("one whose socket was removed is not taken for there, although it answers whom it knows", async (t) => {
  const ctx = await withBalancers(t);
  await withHeld(t, ctx);
  const old = await pidOf(ctx);
  t.after(() => isAlive(old) && process.kill(old, "SIGKILL"));

  for (const socket of socketsOf(ctx)) rmSync(socket);
  await ctx.balancers.keep(service, signal);

  assert.notEqual(await pidOf(ctx), old);
});

/** What has the place of a balancer, and answers nothing. */
async function withDeaf(t: TestContext) {
  const ctx = await withBalancers(t);
  await ctx.balancers.keep(service, signal);
  const [socket = ""] = socketsOf(ctx);
  await ctx.balancers.end(service, 0, signal);
  const code =
    'require("net").createServer((one) => one.destroy()).listen(process.env.OUTRIGGER_SOCKET)';
  const env = { OUTRIGGER_SOCKET: socket };
  const deaf = spawn(process.execPath, ["-e", code], { env, stdio: "ignore" });
  t.after(() => deaf.kill("SIGKILL"));
  // Its file is there a moment before it listens.
  await until(() => listens(socket));
  return { ctx, deaf };
}

const listens = (socket: string) =>
  new Promise<true | undefined>((resolve) => {
    const one = connect(socket, () => {
      one.destroy();
      resolve(true);
    }).on("error", () => resolve(undefined));
  });

const isUnreachable = { name: "UnreachableError" };

test("one that has not answered for long is killed, and another takes its place", async (t) => {
  const { ctx, deaf } = await withDeaf(t);
  const patient = anew(t, ctx);
  const impatient = openBalancers(() => ctx, 0);
  t.after(() => impatient.stop());

  await assert.rejects(patient.keep(service, signal), isUnreachable);
  const afterOnce = deaf.signalCode;
  await assert.rejects(impatient.keep(service, signal), isUnreachable);
  await impatient.keep(service, signal);

  assert.deepEqual([afterOnce, deaf.signalCode], [null, "SIGKILL"]);
  assert.notEqual(await pidOf(ctx), deaf.pid);
});

test("one that does not answer holds up no service that goes down for ever", async (t) => {
  const { ctx, deaf } = await withDeaf(t);
  const impatient = openBalancers(() => ctx, 0);
  t.after(() => impatient.stop());

  await assert.rejects(impatient.end(service, 0, signal), isUnreachable);
  await impatient.end(service, 0, signal);

  assert.equal(deaf.signalCode, "SIGKILL");
  assert.deepEqual(socketsOf(ctx), []);
});

/** A balancer of another build that finishes what it has, and the control plane that had it do so. */
async function withLeaving(t: TestContext) {
  const ctx = await withBalancers(t);
  const pid = await keepOlder(t, ctx);
  const client = await hold(t, ctx);
  await ctx.balancers.stop();
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

  await anew(t, ctx).end(service, 0, signal);

  await until(() => !isAlive(pid) || undefined);
  assert.deepEqual(await pidsOf(ctx), []);
});
