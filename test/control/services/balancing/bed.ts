import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { settingName } from "../../../../common/config.ts";
import { programArgs } from "../../../../common/programs.ts";
import type { BalancerHealth } from "../../../../contract/balancer-api.ts";
import type { Context } from "../../../../control/context.ts";
import { agentBehind } from "../../../../control/doors/agent.ts";
import { openUnixDoor } from "../../../../control/doors/unix.ts";
import { openBalancers } from "../../../../control/services/balancing/balancers.ts";
import { healthOf } from "../../../../control/services/balancing/reach.ts";
import { serviceFolder } from "../../../../control/services/folders.ts";
import type { Balancers, Plan } from "../../../../control/services/schema.ts";
import { until } from "../../../helpers/agent.ts";
import { kill } from "../../../helpers/programs.ts";
import { testWorld } from "../../../helpers/world.ts";
import { aService } from "../rows.ts";

/** Real balancers, as processes. */

export const { signal } = new AbortController();
export const service = aService();
export const nothing: Plan = {
  policy: "least_load",
  probes: {},
  replicas: [],
  tls: null,
  hold: { requests: 0, ms: 0 },
};

/** A world whose balancer is gone before its folder is, whatever a test did to it. */
export async function withBalancers(t: TestContext): Promise<Context> {
  let ctx: Context | undefined;
  t.after(async () => {
    // One that answers nothing is ended by the test that has it.
    for (const pid of ctx === undefined ? [] : await pidsOf(ctx).catch(() => [])) kill(pid);
  });
  ctx = (await testWorld(t)).ctx;
  return ctx;
}

/** Whoever answers now. */
export async function pidsOf(ctx: Context): Promise<number[]> {
  const pids = await Promise.all(socketsOf(ctx).map(pidAt));
  return pids.filter((pid) => pid !== undefined);
}

/** Where balancers of the service listen to control. */
export const socketsOf = (ctx: Context): string[] => {
  const folder = serviceFolder(ctx, service.id);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.endsWith(".sock")).map((name) => join(folder, name));
};

/** Who answers at a socket. */
export const pidAt = async (socket: string): Promise<number | undefined> =>
  (await healthAt(socket))?.pid;

async function healthAt(socket: string): Promise<BalancerHealth | undefined> {
  const door = openUnixDoor(socket);
  return healthOf(agentBehind(door, "it"), signal).finally(() => door.destroy());
}

/** Where clients connect. */
export async function portOf(ctx: Context): Promise<number> {
  const [health] = await Promise.all(socketsOf(ctx).map(healthAt));
  return health?.listen.port ?? assert.fail("nobody answers");
}

export async function pidOf(ctx: Context): Promise<number> {
  const [pid] = await pidsOf(ctx);
  return pid ?? assert.fail("nobody answers");
}

/** As another control plane has them, after the one before. */
export function anew(t: TestContext, ctx: Context): Balancers {
  const balancers = openBalancers(() => ctx);
  t.after(() => balancers.stop());
  return balancers;
}

/** Whether a process is there. */
export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Starts a balancer of another build, and has it kept; its process id. */
export async function keepOlder(t: TestContext, ctx: Context): Promise<number> {
  const folder = serviceFolder(ctx, service.id);
  mkdirSync(folder, { recursive: true });
  const socket = join(folder, "older.sock");
  const env = {
    ...ctx.config.nodeEnv,
    [settingName("socket")]: socket,
    [settingName("build")]: "older",
  };
  const older = spawn(process.execPath, programArgs("balancer"), { env, stdio: "ignore" });
  t.after(() => older.kill("SIGKILL"));
  await until(() => pidAt(socket));
  await ctx.balancers.adopt(service, signal);
  return older.pid ?? assert.fail("no balancer");
}

/** Has the balancer that is kept hold a request of a client. */
export async function hold(t: TestContext, ctx: Context): Promise<Socket> {
  await ctx.balancers.plan(service, { ...nothing, hold: { requests: 1, ms: 600_000 } }, signal);
  const client = connect(await portOf(ctx), service.host).on("error", () => {});
  t.after(() => client.destroy());
  client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await until(() => ctx.balancers.seen(service.id)?.held === 1 || undefined);
  return client;
}

/** Has the balancer of a service kept, and hold a request of a client. */
export async function withHeld(t: TestContext, ctx: Context): Promise<Socket> {
  await ctx.balancers.keep(service, signal);
  return hold(t, ctx);
}
