import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { openProxies } from "../../../control/access/proxies.ts";
import { proxyOf } from "../../../control/sessions/proxy.ts";
import { findUserByName } from "../../../control/users/store.ts";
import { testWorld } from "../../helpers/world.ts";
import { aUserWith, loginsIn } from "./a-login.ts";

const proxy = "10.0.0.7";
const settings = {
  ...{ login: ["proxy"], proxyAddresses: [proxy], adminGroups: ["ops"] },
  ...{ proxyUserHeader: "x-user", proxyGroupsHeader: "x-groups" },
} as const;

/** A call from an address, as it arrives. */
const callFrom = (remoteAddress: string, headers: Record<string, string>) => ({
  headers,
  socket: { remoteAddress } as Socket,
});

async function aWorld(t: TestContext, config = {}) {
  const { ctx } = await testWorld(t, { config: { ...settings, ...config } as never });
  return { ctx, read: proxyOf(ctx) };
}

test("the proxy names the user and the groups, at each call anew", async (t) => {
  const { ctx, read } = await aWorld(t);
  const call = (groups: string) =>
    read(callFrom(`::ffff:${proxy}`, { "x-user": "ann@lab.org", "x-groups": groups }));

  const first = await call("ops, ml,ml,");
  const made = await findUserByName(ctx.db, "ann@lab.org");
  assert.deepEqual(first, { userId: made?.id, credential: "proxy" });
  assert.deepEqual([made?.role, made?.kind, made?.groups], ["admin", "sso", ["ml", "ops"]]);
  assert.deepEqual(await call("ml"), first);
  assert.equal((await findUserByName(ctx.db, "ann@lab.org"))?.role, "user");
  assert.equal(await read(callFrom(proxy, {})), undefined, "it lets in somebody without a login");
});

test("from any other address the header means nothing, and is written down", async (t) => {
  const { ctx, read } = await aWorld(t);

  for (const address of ["10.0.0.8", "127.0.0.1", "127.0.0.1"])
    assert.equal(
      await read(callFrom(address, { "x-user": "ann", "x-forwarded-for": proxy })),
      undefined,
    );
  assert.equal(await findUserByName(ctx.db, "ann"), undefined);
  assert.deepEqual(await loginsIn(ctx), Array(2).fill("login refused user ann, proxy"));
});

test("the proxy speaks for nobody who has a password, nor for a service account", async (t) => {
  const { ctx, read } = await aWorld(t);
  await aUserWith(ctx, "ann", "right horse battery");

  await assert.rejects(read(callFrom(proxy, { "x-user": "ann" })), {
    type: "PermissionDeniedError",
  });
  await assert.rejects(read(callFrom(proxy, { "x-user": "sa:ci" })), { type: "ValueError" });
});

test("without this way to log in the header means nothing", async (t) => {
  const { read } = await aWorld(t, { login: ["password"] });

  assert.equal(await read(callFrom(proxy, { "x-user": "ann" })), undefined);
});

test("only a proxy says where a call came from, and how", () => {
  const proxies = openProxies([proxy]);
  const headers = {
    ...{ host: "control:46580", "x-forwarded-host": "control.example" },
    ...{ "x-forwarded-proto": "https", "x-forwarded-for": "6.6.6.6, 192.0.2.1" },
  };

  assert.equal(proxies.siteOf(callFrom(proxy, headers)), "https://control.example");
  assert.equal(proxies.clientOf(callFrom(proxy, headers)), "192.0.2.1");
  assert.equal(proxies.siteOf(callFrom("10.0.0.8", headers)), "http://control:46580");
  assert.equal(proxies.clientOf(callFrom("10.0.0.8", headers)), "10.0.0.8");
  const clientOf = (hops: string) => proxies.clientOf(callFrom(proxy, { "x-forwarded-for": hops }));
  assert.equal(clientOf("6.6.6.6, 192.0.2.1:5000, 10.0.0.7"), "192.0.2.1");
  assert.equal(clientOf("6.6.6.6, [2001:db8::1]:5000"), "2001:db8::1");
  for (const hops of ["6.6.6.6, unknown", "6.6.6.6, ", "10.0.0.7", ""])
    assert.equal(clientOf(hops), proxy, hops);
  for (const host of ["", "a b", "[", "evil/@x"])
    assert.match(proxies.siteOf(callFrom("10.0.0.8", { host })), /^http:\/\/[a-z]+$/);
});
