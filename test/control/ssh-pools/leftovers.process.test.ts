import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { fail } from "../../../common/errors.ts";
import {
  findLeftover,
  listLeftovers,
  putLeftover,
} from "../../../control/ssh-pools/leftover-store.ts";
import { sshLeftovers } from "../../../control/ssh-pools/leftovers.ts";
import { listHosts, setHost } from "../../../control/ssh-pools/store.ts";
import { updatePools } from "../../../control/ssh-pools/update.ts";
import { aHost } from "../../helpers/hosts.ts";
import { testWorld } from "../../helpers/world.ts";
import { writable } from "../../helpers/writable.ts";

const minuteMs = 60_000;
const a = { pool: "lab", name: "a" };

/** A pool with a host that was deployed; every way there leads to nowhere. */
async function aPool(t: TestContext, pool: object = { user: "ana" }) {
  const { ctx } = await testWorld(t);
  const put = (entry: object) =>
    updatePools(ctx, { lab: { ...pool, hosts: [{ ip: "a", ...entry }] } });
  await put({});
  const { facts } = aHost("a");
  await setHost(writable(ctx), a, { machine: "[a]:22", facts, deployedAt: 1, isDirty: false });
  const left = async () => (await listLeftovers(ctx.db, ctx.seal)).map(({ id }) => id);
  return { ctx, put, left };
}

test("a host that is logged in on elsewhere leaves behind what lies where it was", async (t) => {
  for (const entry of [{ user: "bob" }, { port: 2222 }, { proxy_jump: "gate" }]) {
    const { ctx, put, left } = await aPool(t);

    await put(entry);

    assert.deepEqual(await left(), ["ana@[a]:22"]);
    const [host] = await listHosts(ctx.db);
    assert.deepEqual([host?.deployedAt, host?.isDirty], [null, false]);
  }
});

test("a host that is logged in on in another way only leaves nothing until it leaves", async (t) => {
  for (const entry of [{ identity_file: "/k" }, { password: "p" }, { user: "ana" }]) {
    const { ctx, put, left } = await aPool(t, {});

    await put(entry);

    assert.deepEqual(await left(), []);
    const [host] = await listHosts(ctx.db);
    assert.deepEqual([host?.deployedAt, host?.isDirty], [null, true]);
    await updatePools(ctx, { lab: { hosts: [] } });
    assert.deepEqual(await left(), ["ana@[a]:22"]);
  }
});

test("what is left is tried again, less and less often, and keeps why it is there", async (t) => {
  const { ctx } = await aPool(t);
  await updatePools(ctx, { lab: { hosts: [] } });
  const [{ leftAt: begun } = assert.fail("nothing is left")] = await listLeftovers(
    ctx.db,
    ctx.seal,
  );
  let minutes = 0;
  const at = { ...ctx, now: () => new Date(begun + minutes * minuteMs) };
  const never = new AbortController().signal;

  const tried: number[] = [];
  for (; minutes <= 240; minutes += 1)
    for (const id of await sshLeftovers.due(at)) {
      tried.push(minutes);
      const resolve = async () => fail("CloudError", "host a: its way is closed");
      await sshLeftovers.reconcile({ ...at, ssh: { ...ctx.ssh, resolve } }, id, never);
    }

  assert.deepEqual(tried.slice(0, 6), [1, 2, 4, 8, 16, 32]);
  assert.deepEqual(tried.slice(6), [64, 124, 184]);
  const left = await findLeftover(ctx.db, ctx.seal, "ana@[a]:22");
  assert.equal(left?.problem, "host a: its way is closed");
});

test("a name that leads to another machine by now is no way to what was left", async (t) => {
  const { ctx, left } = await aPool(t);
  await setHost(writable(ctx), a, { machine: "[b]:22" });
  await updatePools(ctx, { lab: { hosts: [] } });
  const [id = ""] = await left();

  await sshLeftovers.reconcile(ctx, id, new AbortController().signal);

  const { problem } = (await findLeftover(ctx.db, ctx.seal, id)) ?? assert.fail("it is gone");
  assert.equal(problem, "it was [b]:22, and its name leads to [a]:22 now");
});

test("what is left in a home while it is looked after is not forgotten with what was there", async (t) => {
  const { ctx, left } = await aPool(t);
  const b = { pool: "attic", name: "b" };
  await updatePools(ctx, { attic: { hosts: [{ ip: "b" }] } });
  await setHost(writable(ctx), b, { machine: "[a]:22", facts: aHost("a").facts, deployedAt: 1 });
  await updatePools(ctx, { lab: { hosts: [] } });
  const [id = ""] = await left();
  const found = (await findLeftover(ctx.db, ctx.seal, id)) ?? assert.fail("nothing is left");
  const resolve = async (entry: Parameters<typeof ctx.ssh.resolve>[0]) => {
    const again = { ...found, pool: "cellar", leftAt: found.leftAt + 1 };
    await putLeftover(writable(ctx), ctx.seal, again);
    return ctx.ssh.resolve(entry);
  };

  await sshLeftovers.reconcile(
    { ...ctx, ssh: { ...ctx.ssh, resolve } },
    id,
    new AbortController().signal,
  );

  assert.equal((await findLeftover(ctx.db, ctx.seal, id))?.pool, "cellar");
  await sshLeftovers.reconcile(ctx, id, new AbortController().signal);
  assert.deepEqual(await left(), []);
});
