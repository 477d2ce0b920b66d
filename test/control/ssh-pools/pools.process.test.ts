import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { testWorld, type World } from "../../helpers/world.ts";

const put = (world: World, pools: unknown) =>
  world.http("POST", "/ssh_node_pools", { body: pools });
const list = async (world: World) => (await world.http("GET", "/ssh_node_pools")).json;

/** A form as browsers and the existing client send it. */
async function upload(world: World, name: string, key: string | Uint8Array<ArrayBuffer>) {
  const form = new FormData();
  form.set("key_name", name);
  form.set("key_file", new Blob([key]), "key");
  const sent = new Response(form);
  const type = sent.headers.get("content-type") ?? "";
  const body = Buffer.from(await sent.arrayBuffer()).toString("latin1");
  return world.http("POST", "/ssh_node_pools/keys", { body, headers: { "content-type": type } });
}

test("pools are replaced one by one, shown without passwords, and forgotten", async (t) => {
  const world = await testWorld(t);
  const lab = {
    hosts: ["10.0.0.1", { ip: "10.0.0.2", user: "bob", password: "secret-2", rack: 7 }],
    user: "ana",
    password: "secret-1",
    identity_file: "~/.ssh/id",
  };
  assert.deepEqual((await put(world, { lab })).json, { status: "success" });
  await put(world, { attic: { hosts: [] } });

  const shown = await list(world);
  assert.deepEqual(Object.keys(shown), ["attic", "lab"]);
  assert.deepEqual(shown["lab"], {
    ...lab,
    password: "********",
    hosts: ["10.0.0.1", { ip: "10.0.0.2", user: "bob", password: "********", rack: 7 }],
  });

  assert.equal((await world.http("DELETE", "/ssh_node_pools/attic")).status, 200);
  assert.equal((await world.http("DELETE", "/ssh_node_pools/attic")).status, 404);
  assert.deepEqual(Object.keys(await list(world)), ["lab"]);
});

test("passwords are never stored in clear, and stay as they were when their masks are sent back", async (t) => {
  const world = await testWorld(t);
  const hosts = [{ ip: "10.0.0.2", password: "secret-2" }, "10.0.0.1"];
  await put(world, { lab: { hosts, password: "secret-1" } });

  await put(world, await list(world));

  const target = (name: string) => world.ctx.ssh.targetOf({ pool: "lab", name });
  assert.equal((await target("10.0.0.1")).password?.reveal(), "secret-1");
  assert.equal((await target("10.0.0.2")).password?.reveal(), "secret-2");
  const folder = join(world.home, "control");
  for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" }))
    if (statSync(join(folder, file)).isFile())
      assert.ok(!readFileSync(join(folder, file)).includes("secret-"), file);
});

test("a document that is wrong changes nothing, and the answer names the place", async (t) => {
  const world = await testWorld(t);
  const refuses = async (pools: unknown, says: RegExp) => {
    const { status, json } = await put(world, pools);
    assert.equal(status, 400);
    assert.match(String(json["detail"]), says);
  };

  await refuses({ good: { hosts: ["a"] }, bad: { hosts: "a" } }, /^pool bad: hosts: /);
  await refuses({ lab: { hosts: ["a", "ana@a"] } }, /pool lab has the host a twice/);
  await refuses({ lab: { hosts: ["-oProxyCommand=x"] } }, /-oProxyCommand=x cannot name a host/);
  await refuses({ "../x": { hosts: [] } }, /\.\.\/x cannot name a pool/);
  await refuses({ lab: { hosts: [{ ip: "a", port: 0 }] } }, /^pool lab: hosts\.0/);
  assert.deepEqual(await list(world), {});
});

test("keys are uploaded for control alone, listed by name, and used by name or path", async (t) => {
  const world = await testWorld(t);
  const { status, json } = await upload(world, "lab.pem", "the key");
  const path = String(json["key_path"]);

  assert.equal(status, 200);
  assert.equal(readFileSync(path, "utf8"), "the key");
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual((await world.http("GET", "/ssh_node_pools/keys")).json, ["lab.pem"]);

  await upload(world, "lab.pem", "a new key");
  const hosts = [
    { ip: "a", identity_file: "lab.pem" },
    { ip: "b", identity_file: path },
  ];
  await put(world, {
    lab: {
      hosts: [
        ...hosts,
        { ip: "c", identity_file: "none" },
        { ip: "d", identity_file: "/dev/zero" },
      ],
    },
  });
  const keysOf = async (name: string) =>
    (await world.ctx.ssh.targetOf({ pool: "lab", name })).keys.map(({ text }) => text.reveal());
  assert.deepEqual(await keysOf("a"), ["a new key"]);
  assert.deepEqual(await keysOf("b"), ["a new key"]);
  await assert.rejects(keysOf("c"), { message: /host c: control has no key none; upload it/ });
  await assert.rejects(keysOf("d"), {
    type: "ConfigError",
    message: /host d: \/dev\/zero is not a regular file/,
  });
});

test("a key that was uploaded for a pool goes with it, unless another pool has it", async (t) => {
  const world = await testWorld(t);
  for (const name of ["own", "shared", "other"]) await upload(world, name, "a key");
  const hosts = [{ ip: "a", identity_file: "own" }];
  await put(world, { lab: { hosts: [...hosts, "b"], identity_file: "shared" } });
  await put(world, { attic: { hosts: [{ ip: "c", identity_file: "shared" }] } });

  await world.http("DELETE", "/ssh_node_pools/lab");
  assert.deepEqual((await world.http("GET", "/ssh_node_pools/keys")).json, ["other", "shared"]);

  await world.http("DELETE", "/ssh_node_pools/attic");
  assert.deepEqual((await world.http("GET", "/ssh_node_pools/keys")).json, ["other"]);
});

test("names of keys lead nowhere else, and a key is a short text", async (t) => {
  const world = await testWorld(t);
  const refuses = async (name: string, key: string | Uint8Array<ArrayBuffer>, says: RegExp) => {
    const { status, json } = await upload(world, name, key);
    assert.equal(status, 400);
    assert.match(String(json["detail"]), says);
  };

  for (const name of ["../x", ".hidden", "", "a/b"]) await refuses(name, "k", /key_name takes/);
  await refuses("big", "k".repeat(70_000), /a key has at most/);
  const empty = await world.http("POST", "/ssh_node_pools/keys", {
    body: "x",
    headers: { "content-type": "multipart/form-data; boundary=b" },
  });
  assert.match(String(empty.json["detail"]), /send a form with key_name and key_file/);
  assert.deepEqual((await world.http("GET", "/ssh_node_pools/keys")).json, []);
});

test("a host is logged in on as its entry says, then as its pool does", async (t) => {
  const world = await testWorld(t);
  await upload(world, "k", "key");
  const hosts = ["bob@a", { ip: "b", port: 2222, proxy_jump: "eve@gate:22022,inner" }];
  await put(world, { lab: { hosts, user: "ana", identity_file: "k", port: 22 } });
  const target = (name: string) => world.ctx.ssh.targetOf({ pool: "lab", name });

  const { user, port, jump } = await target("a");
  assert.deepEqual({ user, port, jump }, { user: "bob", port: 22, jump: null });
  const behind = await target("b");
  assert.equal(behind.user, "ana");
  assert.equal(behind.port, 2222);
  assert.equal(behind.jump?.address, "inner");
  assert.equal(behind.jump?.jump?.address, "gate");
  assert.equal(behind.jump?.jump?.user, "eve");
  assert.equal(behind.jump?.jump?.port, 22_022);
});

test("a pool that nobody knows is not ready, and cannot be deployed", async (t) => {
  const world = await testWorld(t);

  const { json } = await world.http("GET", "/ssh_node_pools/none/status");
  assert.deepEqual(json, {
    pool_name: "none",
    context_name: "ssh-none",
    status: "Not Ready",
    reason: "there is no host in a pool none",
    hosts: [],
  });

  const answer = await world.http("POST", "/ssh_node_pools/none/deploy");
  const id = String(answer.json["request_id"]);
  const fetched = await world.http("GET", `/api/get?request_id=${id}`);
  const error = JSON.parse(String(fetched.json["error"]));
  assert.equal(error.type, "NotFoundError");
  assert.equal(error.message, "there is no pool none; there is none yet: outrigger ssh up -f FILE");
});
