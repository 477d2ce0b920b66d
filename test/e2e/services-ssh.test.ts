import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ReplicaInfo, ServiceStatusRecord } from "../../contract/records/services.ts";
import { startLoad } from "../helpers/model-load.ts";
import { type SshHost, whyNoHosts } from "../helpers/ssh-hosts.ts";
import { aService, clientOf, openStream, serviceOf, unharmed, untilAnswered } from "./service.ts";
import { openLab } from "./ssh-lab.ts";

const skip = whyNoHosts();
const server = readFileSync(join(import.meta.dirname, "../fixtures/model-server.py"));
const file = "/home/ana/model-server.py";
const gate = "/tmp/gate";

test("replicas on hosts of a pool", { skip, timeout: 300_000 }, async (t) => {
  const lab = await openLab(t, Array(3).fill({ node: true }));
  assert.equal((await lab.run("deploy")).error, null);
  for (const { disk } of lab.hosts) writeFileSync(join(disk, file), server, { mode: 0o755 });
  const service = serviceOf(lab.control, "chat");
  const version = (model: string) =>
    aService(lab.control, {
      model,
      run: `HOST=0.0.0.0 exec /usr/bin/python3 ${file}`,
      probe: { timeout_seconds: 3, failure_window_seconds: 10 },
      service: { load_balancing_policy: "round_robin" },
      more: { resources: { infra: "ssh/lab", ports: 8_080 } },
    });
  const client = clientOf(t, await service.up(version("v1")));

  /** Waits until each is reached where it is: before its server listens it cannot but be by SSH. */
  const untilReached = async () => {
    const all = lab.hosts.map(({ address }) => `http://${address}:8080`);
    const isReached = ({ endpoint }: ReplicaInfo) => all.includes(endpoint ?? "");
    return (await service.until((record) => record.replica_info.every(isReached))).replica_info;
  };

  await t.test("each have a host, and the port of the document", async () => {
    await service.untilReady(2);
    const hosts = await untilReached();
    assert.equal(new Set(hosts.map(({ endpoint }) => endpoint)).size, 2);
  });

  await t.test("an update takes the host that is left, then those that get free", async () => {
    await unharmed(client, "mixed", async () => {
      await service.update(version("v2"));
      await service.untilReady(2, 2);
    });
    const failed = (await service.status())?.replica_info.filter(({ status }) =>
      status.startsWith("FAILED"),
    );
    assert.deepEqual(failed, []);
  });

  await t.test("a host is lost under load: what is there ends, the rest goes on", async () => {
    await service.untilReady(2, 2);
    const [lost] = await untilReached();
    const isLost = ({ address }: SshHost) => lost?.endpoint?.includes(`${address}:`);
    const host = lab.hosts.find(isLost);
    // In turns, one is at each of them.
    const open = [openStream(client, gate), openStream(client, gate)];
    await Promise.all(open.map(({ begun }) => begun));
    const loads = [startLoad(client, 20, "listed"), startLoad(client, 15, "mixed")] as const;
    for (const load of loads) await untilAnswered(load, 10);
    await host?.swallow();
    const seen = ({ replica_info }: ServiceStatusRecord) =>
      replica_info.find((one) => one.replica_id === lost?.replica_id);
    await service.until((record) => seen(record)?.status !== "READY");

    await unharmed(client, "mixed", async () => {
      const [listed] = await Promise.all(loads.map((load) => load.stop()));
      // What may be repeated is asked of another; the rest may fail, and ends.
      assert.deepEqual(listed?.failed, []);
      for (const { disk } of lab.hosts.filter((one) => !isLost(one)))
        writeFileSync(join(disk, gate), "");
      const ends = await Promise.allSettled(open.map(({ whole }) => whole));
      assert.deepEqual(ends.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
      await service.untilReady(2, 2);
    });
    const gone = seen((await service.status()) ?? assert.fail());
    assert.equal(gone?.status, "FAILED_PROBING");
    assert.match(gone?.status_reason ?? "", /failed its probe for 10 s: timeout/);
    for (const state of ["down", "up"] as const) await host?.link(state);
  });

  await service.down();
});
