import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { fail } from "../../../common/errors.ts";
import { openHostBook } from "../../../control/ssh-pools/allocations.ts";
import type { HostBook, ReadyHost } from "../../../control/ssh-pools/schema.ts";
import { putHost, setHost } from "../../../control/ssh-pools/store.ts";
import { updatePools } from "../../../control/ssh-pools/update.ts";
import { aHost } from "../../helpers/hosts.ts";
import { testWorld } from "../../helpers/world.ts";
import { writable } from "../../helpers/writable.ts";

/** A book of the pools `lab` (hosts a, b, c) and `attic`, whose host is the machine of a too. */
async function aBook(t: TestContext) {
  const { ctx } = await testWorld(t);
  await updatePools(ctx, { lab: { hosts: ["a", "b", "c"] }, attic: { hosts: ["a"] } });
  const { machine, facts } = aHost("a");
  const known = { machine, facts, deployedAt: 1 };
  for (const pool of ["attic", "lab"]) await setHost(writable(ctx), { pool, name: "a" }, known);
  for (const name of ["b", "c"])
    await setHost(writable(ctx), { pool: "lab", name }, { ...known, machine: `[${name}]:22` });
  return { ctx, book: openHostBook(ctx, ctx.ssh) };
}

const free = async (book: HostBook) =>
  (await book.listFree()).map(({ pool, name }) => `${pool}/${name}`);
const first = (hosts: ReadyHost[], count: number) =>
  hosts.length < count ? fail("ResourcesUnavailableError", "too few") : hosts.slice(0, count);
const aClaim = (id: string, nodes: number) => ({ id, name: id, nodes });

test("a machine is free once, whatever pools it is in, and belongs to one cluster at a time", async (t) => {
  const { book } = await aBook(t);
  assert.deepEqual(await free(book), ["attic/a", "lab/b", "lab/c"]);

  await book.claim(aClaim("c1", 1), first);
  assert.deepEqual(await free(book), ["lab/b", "lab/c"]);
  const claims = ["c2", "c3", "c4"].map((id) => book.claim(aClaim(id, 1), first));
  const ended = await Promise.allSettled(claims);
  assert.deepEqual(ended.map(({ status }) => status).sort(), [
    "fulfilled",
    "fulfilled",
    "rejected",
  ]);
  assert.deepEqual(await free(book), []);
});

test("a pool of which no host is free is told of, with how each of its hosts is", async (t) => {
  const { ctx, book } = await aBook(t);
  assert.deepEqual(await book.listShortages(), []);

  await setHost(writable(ctx), { pool: "lab", name: "b" }, { problem: "host b: no route to it" });
  await book.claim(aClaim("c1", 1), (hosts) => hosts.filter(({ name }) => name === "c"));
  assert.deepEqual(await book.listShortages(), []);
  await putHost(writable(ctx), { pool: "lab", name: "a" }, true);

  const [told = "", ...more] = await book.listShortages();
  assert.deepEqual(more, []);
  const lines = told.split("\n");
  assert.equal(lines[0], "ssh/lab: no host is free");
  assert.match(lines[1] ?? "", /^ {2}a: draining \(/);
  assert.equal(lines[2], "  b: no route to it");
  assert.match(lines[3] ?? "", /^ {2}c: node 0 of c1 \(/);
});

test("free hosts without docker and podman are told of to tasks that name an image", async (t) => {
  const { ctx, book } = await aBook(t);
  const { facts } = aHost("c", { containers: "podman" });
  await setHost(writable(ctx), { pool: "lab", name: "c" }, { facts });
  const need = { infra: "ssh/lab", container: true } as const;
  assert.deepEqual(await book.listShortages(need), []);
  assert.deepEqual(await book.listShortages({ infra: "ssh/lab/b" }), []);

  const lacking = (names: string, place = "ssh/lab") =>
    `${place}: free hosts without docker, podman or Apptainer for their user: ${names}; ` +
    "install docker, podman or Apptainer there, and let this user use it (`docker version`, `podman version`, `apptainer version`); then run `outrigger ssh up`";
  assert.deepEqual(await book.listShortages({ ...need, infra: "ssh/lab/b" }), [
    lacking("b", "ssh/lab/b"),
  ]);
  assert.deepEqual(await book.listShortages({ ...need, nodes: 2 }), [lacking("a, b")]);
  const own = aHost("c", { containers: "rootless docker" });
  await setHost(writable(ctx), { pool: "lab", name: "c" }, own);
  assert.deepEqual(await book.listShortages(need), []);
  for (const asked of [{ reached: true }, { nodes: 2 }] as const)
    assert.match(
      String(await book.listShortages({ ...need, infra: "ssh/lab/c", ...asked })),
      /^ssh\/lab\/c: free hosts whose docker is rootless: c; .* reach ports .* stop it .* use podman, .* `outrigger ssh up`$/,
    );
  await book.claim(aClaim("c1", 1), (hosts) => hosts.filter(({ name }) => name === "c"));
  assert.deepEqual(await book.listShortages(need), [lacking("a, b")]);
  assert.match(
    String(await book.listShortages({ infra: "ssh/lab/c" })),
    /^ssh\/lab\/c: the host is not free\n {2}c: node 0 of c1/,
  );
});

test("a cluster gets hosts for all of its nodes or for none, and never more", async (t) => {
  const { book } = await aBook(t);

  await assert.rejects(book.claim(aClaim("c1", 4), first), { name: "ResourcesUnavailableError" });
  assert.equal((await free(book)).length, 3);
  await Promise.all([1, 2, 3].map(() => book.claim(aClaim("c1", 2), first)));
  assert.deepEqual(
    (await book.nodesOf("c1")).map(({ rank, state }) => [rank, state]),
    [
      [0, "claimed"],
      [1, "claimed"],
    ],
  );
});

test("a host that was given back is free again; a dirty one only once it was cleaned", async (t) => {
  const { book, ctx } = await aBook(t);
  await book.claim(aClaim("c-1", 3), first);
  const nodeOf = async (id: string) => (await book.find(id))?.node ?? assert.fail(id);

  await book.release(await nodeOf("c-1-0"), false);
  await book.release(await nodeOf("c-1-1"), true);
  assert.deepEqual(await free(book), ["attic/a"]);
  await setHost(writable(ctx), { pool: "lab", name: "b" }, { isDirty: false });
  assert.deepEqual(await free(book), ["attic/a", "lab/b"]);
  assert.equal(await book.find("c-1-0"), undefined);
});

test("a machine that one pool has yet to clean is given away by no other", async (t) => {
  const { book, ctx } = await aBook(t);

  await setHost(writable(ctx), { pool: "lab", name: "a" }, { isDirty: true });

  assert.deepEqual(await free(book), ["lab/b", "lab/c"]);
  assert.match(String(await book.listShortages()), /^ssh\/attic: no host is free/);
});

test("a host that is another machine now has to be looked at again, unless a cluster is on it", async (t) => {
  const { book, ctx } = await aBook(t);
  await book.claim(aClaim("c1", 2), first);

  await updatePools(ctx, { lab: { hosts: ["a", "b", "c"], port: 2222 } });

  assert.deepEqual(await free(book), []);
  assert.equal((await book.find("c1-1"))?.host.facts?.cpus, 4);
  await assert.rejects(updatePools(ctx, { lab: { hosts: ["a", "c"] } }), { name: "ConflictError" });
});
