import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { shellWord } from "../../../common/shell-word.ts";
import type { Context } from "../../../control/context.ts";
import { openHostBook } from "../../../control/ssh-pools/allocations.ts";
import { cleanPools, deployPools } from "../../../control/ssh-pools/deploy.ts";
import { lookAt } from "../../../control/ssh-pools/inspect-host.ts";
import { sshLeftovers } from "../../../control/ssh-pools/leftovers.ts";
import { findHost, setHost } from "../../../control/ssh-pools/store.ts";
import { forgetPool, updatePools } from "../../../control/ssh-pools/update.ts";
import { aCluster } from "../../helpers/clusters.ts";
import { startSshHost, whyNoHosts } from "../../helpers/ssh-hosts.ts";
import { testWorld } from "../../helpers/world.ts";
import { writable } from "../../helpers/writable.ts";
import { aCall } from "../clusters/a-call.ts";

const skip = whyNoHosts();
const cluster = { id: "c1", name: "c1", nodes: 1 };
const never = new AbortController().signal;

/** A real host that the pools `lab` and `attic` have, or one of them, as if it were deployed. */
async function aMachine(t: TestContext, pools: readonly string[]) {
  const host = await startSshHost(t, { node: true });
  const { ctx, home } = await testWorld(t);
  const key = join(home, "key");
  writeFileSync(key, host.key, { mode: 0o600 });
  const config = { user: "ana", identity_file: key, hosts: [host.address] };
  await updatePools(ctx, Object.fromEntries(pools.map((pool) => [pool, config])));
  for (const pool of pools) {
    await lookAt(ctx, { pool, name: host.address }, never);
    await setHost(writable(ctx), { pool, name: host.address }, { deployedAt: 1 });
  }
  const book = openHostBook(ctx, ctx.ssh);
  const claim = () => book.claim(cluster, (free) => free.slice(0, 1));
  const isDirty = async (pool: string) =>
    (await findHost(ctx.db, { pool, name: host.address }))?.isDirty;
  return { host, ctx, book, claim, isDirty };
}

/** The same world, where something happens before each write. */
const interrupted = (ctx: Context, happens: () => Promise<void>): Context => ({
  ...ctx,
  batch: async (write) => {
    await happens();
    return ctx.batch(write);
  },
});

test("a host that a cluster gets while it is looked at is not cleaned", { skip }, async (t) => {
  const { host, ctx, book, claim } = await aMachine(t, ["lab"]);
  await host.run("mkdir /home/ana/.outrigger");

  const cleaning = cleanPools(interrupted(ctx, claim), ["lab"], aCall(ctx));

  await assert.rejects(cleaning, { message: /pool lab is used by c1; take that down first/ });
  await host.run("test -d /home/ana/.outrigger");
  const kept = (await book.find("c1-0"))?.host;
  assert.deepEqual([kept?.deployedAt, kept?.isDirty], [1, false]);
});

test("a pool that a cluster gets hosts of is not forgotten", { skip }, async (t) => {
  const { ctx, book, claim } = await aMachine(t, ["lab"]);

  const forgetting = forgetPool(interrupted(ctx, claim), "lab");

  await assert.rejects(forgetting, { name: "ConflictError", message: /used by c1/ });
  assert.ok(await book.find("c1-0"));
});

test("a host that its cluster leaves dirty while it is deployed is nobody's until it was cleaned", {
  skip,
}, async (t) => {
  const { host, ctx, book, claim, isDirty } = await aMachine(t, ["lab"]);
  await claim();
  const hash = "a".repeat(64);
  const folders = ["", "/bundles", `/bundles/${hash.slice(0, 16)}`];
  for (const folder of folders) await host.run(`install -d -o ana /home/ana/.outrigger${folder}`);
  const agent = async () => {
    const { node } = (await book.find("c1-0")) ?? assert.fail("nothing is claimed");
    await book.release(node, true);
    return { hash, file: "", bytes: 0 };
  };
  const ssh = { ...ctx.ssh, bundles: { ...ctx.ssh.bundles, agent } };

  await deployPools({ ...ctx, ssh }, ["lab"], aCall(ctx));

  assert.equal(await isDirty("lab"), true);
  assert.deepEqual(await book.listFree(), []);
});

test("what a cluster left running is cleaned by the pool that keeps the machine", {
  skip,
}, async (t) => {
  const { host, ctx, isDirty } = await aMachine(t, ["attic", "lab"]);
  const lab = { pool: "lab", name: host.address };

  await setHost(writable(ctx), lab, { isDirty: true });
  await cleanPools(ctx, ["lab"], aCall(ctx));
  assert.deepEqual([await isDirty("attic"), await isDirty("lab")], [true, false]);

  await setHost(writable(ctx), { ...lab, pool: "attic" }, { isDirty: false });
  await setHost(writable(ctx), lab, { isDirty: true, deployedAt: 1 });
  await updatePools(ctx, { lab: { hosts: [] } });
  assert.equal(await isDirty("attic"), true);
});

test("a document that drains hosts now is written down together with what that means", {
  skip,
}, async (t) => {
  const { host, ctx, book, claim, isDirty } = await aMachine(t, ["lab"]);
  await claim();
  let writes = 0;
  const killed = interrupted(ctx, async () => {
    writes += 1;
    if (writes > 1) throw new Error("killed");
  });

  const hosts = [{ ip: host.address, drain: "now" }];
  await updatePools(killed, { lab: { user: "ana", hosts } }).catch(() => {});

  assert.deepEqual(await book.nodesOf("c1"), []);
  assert.equal(await isDirty("lab"), true);
});

test("logs of jobs are fetched from a host that has left its pool before it is cleaned", {
  skip,
}, async (t) => {
  const { host, ctx } = await aMachine(t, ["lab"]);
  const lab = { pool: "lab", name: host.address };
  await setHost(writable(ctx), lab, { isDirty: true });
  const { offer } = aCluster();
  const occupant = {
    control: "c",
    clusterId: "gone",
    rank: 0,
    cluster: { name: "n", nodes: 1, offer },
  };
  await host.run(`install -d -o ana /home/ana/.outrigger /home/ana/.outrigger/agent`);
  await host.run(
    `echo ${shellWord(JSON.stringify(occupant))} > /home/ana/.outrigger/agent/cluster.json`,
  );
  const fetched: string[] = [];
  const rest = async (clusterId: string) => {
    await host.run("test -e /home/ana/.outrigger/agent/cluster.json");
    fetched.push(clusterId);
  };
  Object.assign(ctx.jobLogs, { rest });

  await updatePools(ctx, { lab: { user: "ana", hosts: [] } });
  for (const id of await sshLeftovers.due({ ...ctx, now: () => new Date(Date.now() + 120_000) }))
    await sshLeftovers.reconcile(ctx, id, never);

  assert.deepEqual(fetched, ["gone"]);
  await host.run("test ! -e /home/ana/.outrigger");
});
