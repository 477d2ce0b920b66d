import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { serveOperations as rows } from "../../contract/operations/serve.ts";
import type { ReplicaInfo } from "../../contract/records/services.ts";
import { findLeaks } from "../helpers/leaks.ts";
import { type SshHost, whyNoHosts } from "../helpers/ssh-hosts.ts";
import { aService, clientOf, key, openStream, serviceOf, unharmed } from "./service.ts";
import { openLab } from "./ssh-lab.ts";

const skip = whyNoHosts();
const server = readFileSync(join(import.meta.dirname, "../fixtures/model-server.py"));
const file = "/home/ana/model-server.py";
/** What is a host's own; the rest it has from this machine. */
const own = ["etc", "home", "opt", "root", "run", "tmp", "var"];

test("replicas behind sidecars on hosts of a pool", { skip, timeout: 300_000 }, async (t) => {
  const lab = await openLab(t, Array(3).fill({ node: true }), { LOG_LEVEL: "debug" });
  const { control, hosts } = lab;
  assert.equal((await lab.run("deploy")).error, null);
  for (const { disk } of hosts) writeFileSync(join(disk, file), server, { mode: 0o755 });
  const service = serviceOf(control, "chat");
  const task = aService(control, {
    run: `unset API_KEY; exec /usr/bin/python3 ${file}`,
    service: { auth: { api_key: "$API_KEY" } },
    more: { resources: { infra: "ssh/lab", ports: 8_080 } },
  });
  const client = clientOf(t, await service.up(task));

  const disks = hosts.flatMap(({ disk }) => own.map((folder) => join(disk, folder)));
  const leaks = () => findLeaks(key, control.home, ...disks);
  const hostOf = ({ endpoint }: ReplicaInfo): SshHost | undefined =>
    hosts.find(({ address }) => endpoint?.startsWith(`http://${address}:`));

  /** A replica as soon as it is so. */
  async function replica(id: number, isSo: (one: ReplicaInfo) => boolean): Promise<ReplicaInfo> {
    const find = ({ replica_info }: { replica_info: readonly ReplicaInfo[] }) =>
      replica_info.find((one) => one.replica_id === id && isSo(one));
    const record = await service.until((one) => find(one) !== undefined);
    return find(record) ?? assert.fail();
  }

  await t.test("let nobody in without the key, wherever they are asked", async () => {
    await service.untilReady(2);
    await Promise.all([client.who(), client.complete(true), client.complete(false)]);
    for (const wrong of [null, "sesame"])
      assert.equal((await client.get("/v1/models", wrong)).status, 401);
    for (const id of [1, 2]) {
      const reached = await replica(id, (one) => hostOf(one) !== undefined);
      const direct = clientOf(t, reached.endpoint ?? "");
      assert.equal((await direct.get("/v1/models", null)).status, 401);
      assert.equal((await direct.who()).model, "v1");
      await assert.rejects(fetch(`http://${hostOf(reached)?.address}:8080/v1/models`));
    }
    assert.deepEqual(leaks(), []);
  });

  await t.test("finish what is open when they are terminated", async () => {
    const gate = "/tmp/gate";
    const open = [openStream(client, gate), openStream(client, gate)];
    // At the least load, one is at each of them.
    await Promise.all(open.map(({ begun }) => begun));
    await unharmed(client, "mixed", async () => {
      await service.terminate(1);
      await replica(3, ({ status }) => status === "READY");
      for (const { disk } of hosts) writeFileSync(join(disk, gate), "");
      for (const { whole } of open) assert.equal(await whole, 4);
      await service.untilReady(2);
    });
  });

  await t.test("say why they failed, and are forgotten by a purge alone", async () => {
    const reached = await replica(2, (one) => hostOf(one) !== undefined);
    await hostOf(reached)?.run("pkill -KILL -u ana python3");
    const { status_reason } = await replica(2, ({ status }) => status === "FAILED");
    assert.match(status_reason ?? "", /run exited with 137 .*; it printed last:\n/);
    await service.untilReady(2);
    await assert.rejects(
      service.terminate(2),
      /replica 2 has failed; to remove it from the list, pass --purge/,
    );
    await service.terminate(2, true);
    await service.until(({ replica_info }) =>
      replica_info.every(({ replica_id }) => replica_id !== 2),
    );
  });

  await t.test("have logs, also those that are gone", async () => {
    assert.match(await service.log("controller"), /replica 1 is removed: terminated by ana/);
    assert.match(await service.log("load_balancer"), /"path":"\/v1\/models"/);
    for (const id of [1, 2, 3])
      assert.match(await service.log("replica", id), /v1 listens on 8080/);
    const of = { service_name: service.name, local_dir: ".", targets: null };
    const folder = await control.client.callAndGet(rows.downloadLogs, of);
    const copied = join(control.home, "control/clients/local/logs", basename(folder));
    const parts = ["controller", "load_balancer", "replica_3", "replica_4"];
    assert.deepEqual(
      readdirSync(copied).sort(),
      parts.map((part) => `${part}.log`),
    );
    assert.match(readFileSync(join(copied, "replica_3.log"), "utf8"), /v1 listens on 8080/);
  });

  await t.test("leave neither key nor server behind", async () => {
    assert.deepEqual(leaks(), []);
    await service.down();
    assert.deepEqual(leaks(), []);
    for (const { run } of hosts) assert.equal(await run("pgrep -cu ana python3 || true"), "0");
  });
});
