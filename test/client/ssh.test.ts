import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { commandLine } from "./command-line.ts";
import { fakeControl, type Handler, sendJson } from "./fake-control.ts";
import { usual } from "./usual-routes.ts";

/** Keeps the forms that it is sent. */
function keyRoute() {
  const names: string[] = [];
  const answer: Handler = ({ text }, res) => {
    const name = /name="key_name"\r\n\r\n(.*)\r\n/.exec(text)?.[1] ?? "";
    names.push(name);
    sendJson(res, 200, { status: "success", key_path: `/keys/${name}` });
  };
  return { names, answer };
}

const done: Handler = (_seen, res) => sendJson(res, 200, { status: "success" });

const statusOf =
  (pool: string, hosts: object[]): Handler =>
  (_seen, res) =>
    sendJson(res, 200, { pool_name: pool, status: "Not Ready", reason: "", hosts });

test("ssh up writes the pools of a file down with their keys, then deploys those", async (t) => {
  const { names, answer } = keyRoute();
  const control = await fakeControl(t, {
    ...usual,
    "POST /ssh_node_pools/keys": answer,
    "POST /ssh_node_pools": done,
    "POST /ssh_node_pools/deploy": { result: null, log: "lab/a: ready in 0.1 s\n" },
  });
  const outrigger = await commandLine(t, control.endpoint);
  await mkdir(join(outrigger.folder, "other"));
  for (const file of ["id", "other/id"]) await writeFile(join(outrigger.folder, file), file);
  const pools = {
    lab: { user: "ana", identity_file: "id", hosts: ["a", { ip: "b", identity_file: "other/id" }] },
    attic: { hosts: [{ ip: "c", identity_file: "id" }], identity_file: "id" },
  };
  await writeFile(join(outrigger.folder, "pools.yaml"), JSON.stringify(pools));

  const { code, stdout, stderr } = await outrigger(["ssh", "up", "-f", "pools.yaml"]);

  assert.equal(code, 0, stderr);
  assert.deepEqual(names, ["id", "id-2"]);
  const [sent] = control.to("POST /ssh_node_pools");
  assert.deepEqual(Object.keys(sent?.body ?? {}), ["lab", "attic"]);
  const infras = control.to("POST /ssh_node_pools/deploy").map(({ body }) => body["infra"]);
  assert.deepEqual(infras, ["lab", "attic"]);
  assert.equal(stdout, "lab/a: ready in 0.1 s\n".repeat(2));
});

test("ssh status tells of each host, ssh down cleans up what it is told", async (t) => {
  const control = await fakeControl(t, {
    ...usual,
    "GET /ssh_node_pools": (_seen, res) => sendJson(res, 200, { lab: { hosts: ["a"] } }),
    "GET /ssh_node_pools/lab/status": (_seen, res) =>
      sendJson(res, 200, {
        pool_name: "lab",
        context_name: "ssh-lab",
        status: "Ready",
        reason: "a: free (Linux x86_64, 8 CPUs)\nb: nothing listens on port 22; is it on?",
        hosts: [
          { name: "a", status: "Ready", reason: "free (Linux x86_64, 8 CPUs)" },
          { name: "b", status: "Not Ready", reason: "nothing listens on port 22; is it on?" },
        ],
      }),
    "POST /ssh_node_pools/down": { result: null },
  });
  const outrigger = await commandLine(t, control.endpoint);

  const { stdout } = await outrigger(["ssh", "status"]);
  assert.match(stdout, /^lab +a +Ready +free \(Linux x86_64, 8 CPUs\)$/m);
  assert.match(stdout, /^lab +b +Not Ready +nothing listens on port 22; is it on\?$/m);
  const json = JSON.parse((await outrigger(["ssh", "status", "lab", "-o", "json"])).stdout);
  assert.deepEqual([json[0].name, json[0].hosts[1].status], ["lab", "Not Ready"]);

  await outrigger(["ssh", "down", "ssh/lab"]);
  assert.deepEqual(control.to("POST /ssh_node_pools/down")[0]?.body["infra"], "ssh/lab");
});

test("without pools every command about them says how there are some", async (t) => {
  const control = await fakeControl(t, {
    "GET /ssh_node_pools": (_seen, res) => sendJson(res, 200, {}),
  });
  const outrigger = await commandLine(t, control.endpoint);

  for (const verb of ["up", "down", "status"]) {
    const { code, stdout, stderr } = await outrigger(["ssh", verb]);
    assert.deepEqual([code, stdout], [0, ""]);
    assert.match(stderr, /^No pools\. .* outrigger ssh up -f FILE\n$/);
  }
});

test("ssh status says whole why a host cannot be used, and names no pool that there is not", async (t) => {
  const why = "nothing listens on port 22, and nobody has been heard of there for a long while now";
  const control = await fakeControl(t, {
    "GET /ssh_node_pools": (_seen, res) => sendJson(res, 200, { lab: { hosts: ["a"] } }),
    "GET /ssh_node_pools/lab/status": (_seen, res) =>
      sendJson(res, 200, {
        ...{ pool_name: "lab", status: "Not Ready", reason: `a: ${why}` },
        hosts: [{ name: "a", status: "Not Ready", reason: why }],
      }),
    "GET /ssh_node_pools/lba/status": statusOf("lba", []),
  });
  const outrigger = await commandLine(t, control.endpoint);

  const { stdout } = await outrigger(["ssh", "status", "ssh/lab"], {
    columns: 80,
    env: { NO_COLOR: "1" },
  });
  const { code, stderr } = await outrigger(["ssh", "status", "lba"]);

  assert.ok(stdout.replaceAll(/\s+/g, " ").includes(why), stdout);
  for (const line of stdout.split("\n")) assert.ok(line.length <= 80, line);
  assert.equal(code, 3);
  assert.match(stderr, /there is no pool lba; did you mean `lab`\?/);
});

test("who watches hosts being made ready sees what is done; the answer goes to stdout", async (t) => {
  const control = await fakeControl(t, {
    "POST /ssh_node_pools/deploy": { result: null, log: "lab/a: ready in 0.1 s\n" },
    "POST /ssh_node_pools/down": { error: { type: "CloudError", message: "a is off" } },
  });
  const outrigger = await commandLine(t, control.endpoint);

  const up = await outrigger(["ssh", "up", "lab"], { columns: 80, env: { NO_COLOR: "1" } });
  const down = await outrigger(["ssh", "down", "lab"], { columns: 80, env: { NO_COLOR: "1" } });

  assert.equal(up.stdout, "lab/a: ready in 0.1 s\n");
  assert.match(up.stderr, /✓ Making the hosts of lab ready/);
  assert.match(down.stderr, /✗ Cleaning the hosts of lab\n.*a is off/);
});

test("Ctrl-C leaves hosts that are being made ready alone, and says how to come back", async (t) => {
  const abort = new AbortController();
  const follows: Handler = (_seen, res) => void res.write("a: ready\n", () => abort.abort());
  const control = await fakeControl(t, {
    ...usual,
    "POST /ssh_node_pools/deploy": { result: null },
    "GET /api/stream": follows,
  });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stderr } = await outrigger(["ssh", "up", "lab", "attic"], { signal: abort.signal });

  assert.equal(code, 130);
  for (const pool of ["lab", "attic"])
    assert.match(
      stderr,
      new RegExp(`^The ssh up of ${pool} continues. Follow it: outrigger api logs \\S+$`, "m"),
    );
});

test("ssh forget forgets each pool that it is told, and ssh down says that there is such a thing", async (t) => {
  const control = await fakeControl(t, {
    ...usual,
    "DELETE /ssh_node_pools/lab": done,
    "DELETE /ssh_node_pools/attic": done,
    "GET /ssh_node_pools/lab/status": statusOf("lab", []),
    "GET /ssh_node_pools/attic/status": statusOf("attic", []),
  });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stderr } = await outrigger(["ssh", "forget", "ssh/lab", "attic"]);
  const help = await outrigger(["ssh", "down", "--help"]);

  assert.deepEqual([code, stderr], [0, "Forgot the pool lab.\nForgot the pool attic.\n"]);
  assert.match(help.stdout, /"ssh forget"/);
});

test("what is left on hosts of a pool that is forgotten is told then, and by ssh status", async (t) => {
  const reason = "Outrigger could not be removed from ana@[a]:22 yet: it is off";
  const control = await fakeControl(t, {
    "GET /ssh_node_pools": (_seen, res) => sendJson(res, 200, {}),
    "DELETE /ssh_node_pools/lab": done,
    "GET /ssh_node_pools/lab/status": statusOf("lab", [{ name: "a", status: "Not Ready", reason }]),
  });
  const outrigger = await commandLine(t, control.endpoint);

  const { stderr } = await outrigger(["ssh", "forget", "lab"]);
  const { code, stdout } = await outrigger(["ssh", "status", "lab"]);

  assert.equal(stderr, `Forgot the pool lab.\nlab/a: ${reason}\n`);
  assert.equal(code, 0);
  assert.ok(stdout.includes(reason), stdout);
});

test("ssh down gives up what cannot be cleaned only when it is told to", async (t) => {
  const control = await fakeControl(t, { ...usual, "POST /ssh_node_pools/down": { result: null } });
  const outrigger = await commandLine(t, control.endpoint);

  await outrigger(["ssh", "down", "lab"]);
  await outrigger(["ssh", "down", "lab", "--force"]);

  const asked = control.to("POST /ssh_node_pools/down").map(({ body }) => body["force"] ?? false);
  assert.deepEqual(asked, [false, true]);
});

test("ssh keys lists and uploads; a file that is not there is named", async (t) => {
  const { names, answer } = keyRoute();
  const control = await fakeControl(t, {
    ...usual,
    "POST /ssh_node_pools/keys": answer,
    "GET /ssh_node_pools/keys": (_seen, res) => sendJson(res, 200, ["one", "two"]),
  });
  const outrigger = await commandLine(t, control.endpoint);
  await writeFile(join(outrigger.folder, "id"), "key");

  assert.equal((await outrigger(["ssh", "keys"])).stdout, "NAME\none\ntwo\n");
  assert.match((await outrigger(["ssh", "keys", "id"])).stderr, /Uploaded \/keys\/id\./);
  assert.deepEqual(names, ["id"]);
  const { code, stderr } = await outrigger(["ssh", "keys", "none"]);
  assert.equal(code, 3);
  assert.match(stderr, /there is no file none/);
});
