import assert from "node:assert/strict";
import { test } from "node:test";
import { setReplica } from "../../../../control/services/replicas/store.ts";
import { writable } from "../../../helpers/writable.ts";
import { aTask, type ServiceBed, withService } from "../bed.ts";

const one = aTask().replace("replicas: 2", "replicas: 1");
const auth = `${one}\nsecrets: {KEY: sesame-open}\n`.replace(
  "readiness_probe",
  "auth: {api_key: $KEY}\n  readiness_probe",
);
const unanswered = { usually: { problem: "refused", failingSince: 1 } } as const;

/** Why the first replica has its status, with its server listening on these ports. */
async function reasonWith(bed: ServiceBed, ...ports: number[]): Promise<string> {
  (await bed.job(1)).ports = ports;
  // The first time it may be seen to run, and its balancer told of it; from then on it is probed.
  for (const _ of ["runs", "is probed"]) await bed.look();
  return (await bed.record()).replica_info[0]?.status_reason ?? "";
}

const hintOf = async (bed: ServiceBed) => (await bed.record()).replica_info[0]?.hint;

test("while a replica starts, it is said that its server listens elsewhere than on $PORT", async (t) => {
  const bed = await withService(t, one, unanswered);
  await bed.untilReplica(1, "STARTING");
  const usual = "its task was submitted; last probe: refused";

  assert.equal(await reasonWith(bed), usual);
  assert.equal(
    await reasonWith(bed, 8000),
    "its task was submitted; it listens on 8000, not on $PORT, which is 8080: use $PORT, or name its port in the task; last probe: refused",
  );
  assert.equal(
    await hintOf(bed),
    "it listens on 8000, not on $PORT, which is 8080: use $PORT, or name its port in the task",
  );
  assert.match(
    await reasonWith(bed, 1, 2, 3, 4, 5),
    /listens on 1, 2, 3 and 2 more, not on \$PORT/,
  );
  assert.equal(await reasonWith(bed, 8000, 8080), usual, "of metrics nothing is said");
  assert.equal(await hintOf(bed), undefined);
});

test("a replica that failed says where its server listened, and what it printed last", async (t) => {
  const bed = await withService(t, one, unanswered);
  const { clusterId } = await bed.untilReplica(1, "STARTING");
  bed.world.provider.agentOf(clusterId ?? "").print(1, "serving on 8000\n");
  await reasonWith(bed, 8000);
  bed.world.advance(1_201_000);
  await bed.look();
  await bed.untilReplica(1, "FAILED_INITIAL_DELAY");
  await bed.world.untilStatus("chat-1", "GONE");

  assert.equal(
    (await bed.replica(1)).reason,
    "it was not ready 1200 s after its run began: refused; it listens on 8000, not on $PORT, which is 8080: use $PORT, or name its port in the task; it printed last:\nserving on 8000",
  );
  assert.equal(await hintOf(bed), undefined);
});

test("where its sidecar listens does not count", async (t) => {
  const bed = await withService(t, auth, unanswered);
  const { listenPort } = await bed.untilReplica(1, "STARTING");

  assert.doesNotMatch(await reasonWith(bed, listenPort ?? 0), /it listens/);
  assert.match(await reasonWith(bed, listenPort ?? 0, 8000), /; it listens on 8000, not on/);
});

test("nothing is said before its probe was refused, and nothing of who was ready", async (t) => {
  const bed = await withService(t, one, { usually: {} });
  await bed.untilReplica(1, "STARTING");

  assert.equal(await reasonWith(bed, 8000), "its task was submitted");
  bed.balancers.sees(1, { readiness: "ready", problem: "one bad answer" });
  await bed.untilReady(1);
  assert.equal(await reasonWith(bed, 8000), "it answers its probe");
});

test("a server that insists on the document's port is told of a network of its own", async (t) => {
  const bed = await withService(t, one, unanswered);
  const { id } = await bed.untilReplica(1, "STARTING");
  await setReplica(writable(bed.world.ctx), id, { serverPort: 20_001, listenPort: 20_001 });
  const stray = (ports: string) =>
    `; it listens on ${ports}, not on $PORT, which is 20001: use $PORT`;
  const said = async (port: number) =>
    /(?=; it listens)[^;]*;[^;]*/.exec(await reasonWith(bed, port))?.[0];

  assert.equal(await said(8080), `${stray("8080")}, or set service.isolation: netns`);
  assert.equal(await said(9000), stray("9000"));
});
