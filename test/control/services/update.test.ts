import assert from "node:assert/strict";
import { test } from "node:test";
import { serveOperations as rows } from "../../../contract/operations/serve.ts";
import type { Call, Progress } from "../../../control/bind.ts";
import { listVersions } from "../../../control/services/store.ts";
import { update } from "../../../control/services/update.ts";
import { until } from "../../helpers/agent.ts";
import { aCall } from "../clusters/a-call.ts";
import { aTask, type ServiceBed, serviceBed, withService } from "./bed.ts";

const next = { service_name: "chat", task: aTask().replace("run: serve", "run: serve --new") };

const versionsOf = async ({ world, service }: ServiceBed) =>
  listVersions(world.ctx.db, (await service()).id);

/** The versions of the replicas that are ready. */
const readyOf = async (bed: ServiceBed) =>
  (await bed.record()).replica_info
    .filter(({ status }) => status === "READY")
    .map(({ version }) => version);

for (const mode of ["rolling", "blue_green"] as const)
  test(`an update, ${mode}, ends with the new version alone, and drains the old one`, async (t) => {
    const bed = await withService(t);
    await bed.untilReady(1, 2);

    assert.equal(await bed.world.run(rows.update, { ...next, mode }), null);
    await until(async () => (await readyOf(bed)).join() === "2,2" || undefined);

    const old = bed.balancers.of("chat")[0]?.plans.flatMap(({ replicas }) => replicas) ?? [];
    for (const id of [1, 2])
      assert.ok(
        old.some((one) => one.id === id && one.role === "draining"),
        `replica ${id}`,
      );
    const { version, active_versions } = await bed.record();
    assert.deepEqual({ version, active_versions }, { version: 2, active_versions: [2] });
    assert.equal((await bed.job(4)).submission.run, "serve --new");
    const [, added] = await versionsOf(bed);
    assert.deepEqual(
      [added?.mode, added?.because],
      [mode, `update by ${added?.because.slice(10)}`],
    );
  });

test("an update cannot give a service TLS, as its clients have its address", async (t) => {
  const bed = await withService(t);
  const tls = "  tls: {keyfile: ./key.pem, certfile: ./cert.pem}";

  await assert.rejects(bed.world.run(rows.update, { ...next, task: aTask(tls), mode: "rolling" }), {
    type: "ValueError",
    message: /service chat does not speak TLS, and an update cannot/,
  });

  assert.equal((await versionsOf(bed)).length, 1);
});

test("an update of a service that nobody brought up, or that goes down, is refused", async (t) => {
  const bed = await withService(t);
  await bed.untilService("READY");
  bed.balancers.sees(1, { open: 1 });
  const down = await bed.world.call(rows.down, { service_names: "chat", all: false });
  await bed.untilService("SHUTTING_DOWN");

  await assert.rejects(bed.world.run(rows.update, { ...next, mode: "rolling" }), {
    type: "ConflictError",
    message: /service chat is being taken down \(down by /,
  });
  await assert.rejects(
    bed.world.run(rows.update, { ...next, service_name: "other", mode: "rolling" }),
    { type: "NotFoundError", message: /there is no service other/ },
  );

  bed.balancers.sees(1, { open: 0 });
  await bed.world.get(rows.down, down);
});

test("control that is killed around an update leaves one version, and all of it or nothing", async (t) => {
  const bed = await withService(t);
  const { ctx } = bed.world;
  const input = { ...next, mode: "rolling" as const, file_mounts_blob_id: null };
  const killed = new Error("killed");
  const attempt = (call: Partial<Call>) => update(ctx, input as never, { ...aCall(ctx), ...call });

  await assert.rejects(attempt({ remember: () => Promise.reject(killed) }), killed);
  const before = (await versionsOf(bed)).length;
  const kept: Progress[] = [];
  const remember: Call["remember"] = async (progress, also) => {
    await ctx.batch(async (tx) => also?.(tx));
    kept.push(progress);
    throw killed;
  };
  await assert.rejects(attempt({ remember }), killed);
  const [progress = {}] = kept;
  await attempt({ progress, remember });

  assert.equal(before, 1, "nothing is written beside what is remembered");
  assert.equal((await versionsOf(bed)).length, 2);
});

test("updates at once each make a version of their own", async (t) => {
  const bed = await withService(t);

  await Promise.all([1, 2, 3].map(() => bed.world.run(rows.update, { ...next, mode: "rolling" })));

  assert.deepEqual(
    (await versionsOf(bed)).map(({ version }) => version),
    [1, 2, 3, 4],
  );
  assert.equal((await bed.service()).version, 4);
});

test("a version whose replicas fail is given up for the one before, which is said", async (t) => {
  const bed = await serviceBed(t, { usually: {} });
  for (const number of [1, 2]) bed.balancers.sees(number, { readiness: "ready" });
  await bed.world.run(rows.up, { task: aTask(), service_name: "chat" });
  await bed.untilReady(1, 2);

  const task = aTask("  load_balancing_policy: round_robin");
  await bed.world.run(rows.update, { ...next, task, mode: "rolling" });
  const givenUp = await until(async () => {
    const { replica_info, given_up } = await bed.record();
    const begun = replica_info.filter((one) => one.version === 2 && one.status === "STARTING");
    for (const { replica_id } of begun) {
      const { clusterId } = await bed.replica(replica_id);
      bed.world.provider.agentOf(clusterId ?? "").end(1, "FAILED");
    }
    bed.world.advance(60_000);
    await bed.look();
    return given_up;
  });

  assert.match(givenUp, /3 replicas of version 2 failed and none was ready/);
  assert.ok((await bed.events()).includes(`version 2 is given up: ${givenUp}`));
  const { status, active_versions, load_balancing_policy } = await bed.record();
  assert.deepEqual({ status, active_versions }, { status: "READY", active_versions: [1] });
  assert.equal(load_balancing_policy, "least_load");
});
