import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { openBalancers } from "../../../../control/services/balancing/balancers.ts";
import { serviceFolder } from "../../../../control/services/folders.ts";
import { until } from "../../../helpers/agent.ts";
import { testWorld } from "../../../helpers/world.ts";
import { aService } from "../rows.ts";

test("a balancer that outlived control is found and ended, though its service goes down", async (t) => {
  const { ctx } = await testWorld(t);
  const service = aService();
  const { signal } = new AbortController();
  await ctx.balancers.keep(service, signal);
  await ctx.balancers.stop();
  const anew = openBalancers(() => ctx);
  t.after(() => anew.stop());

  await anew.adopt(service, signal);
  await until(async () => anew.seen(service.id));
  await anew.end(service, 0, signal);

  const folder = serviceFolder(ctx, service.id);
  const sockets = () => readdirSync(folder).filter((name) => name.endsWith(".sock"));
  await until(async () => sockets().length === 0 || undefined);
});

test("where none runs, none is started to go down", async (t) => {
  const { ctx } = await testWorld(t);

  await ctx.balancers.adopt(aService(), new AbortController().signal);

  assert.equal(existsSync(serviceFolder(ctx, "s1")), false);
});
