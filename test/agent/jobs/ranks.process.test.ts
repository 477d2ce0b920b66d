import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { findTree } from "../../../common/process-tree.ts";
import { eventsOf, until } from "../../helpers/agent.ts";
import { startCluster, startPair } from "../../helpers/relay.ts";

const [head, worker] = await startCluster({ after });

test("no rank runs before all are set up; the log on the head names every line's rank", async () => {
  const setup = `[ "$OUTRIGGER_SETUP_NODE_RANK" = 0 ] || until [ -e ~/go ]; do sleep 0.05; done`;
  const run =
    'echo "$OUTRIGGER_NODE_RANK of $OUTRIGGER_NUM_NODES" $OUTRIGGER_NODE_IPS $MASTER_ADDR';
  const { id } = await head.submit(run, { setup, nodes: 2 });
  await until(async () => {
    const [own, other] = await head.call("listParts", { id });
    return (own?.status === "READY" && other?.status === "SETTING_UP") || undefined;
  });
  assert.equal((await head.call("getJob", { id })).status, "SETTING_UP");

  writeFileSync(join(worker.home, "go"), "");
  const job = await head.untilJob(id);
  assert.equal(job.status, "SUCCEEDED");
  assert.deepEqual((await head.log(id)).trim().split("\n").sort(), [
    "(head, rank=0) 0 of 2 10.0.0.1 10.0.0.2 10.0.0.1",
    "(worker1, rank=1) 1 of 2 10.0.0.1 10.0.0.2 10.0.0.1",
  ]);
});

test("readers of events are told that a log has grown where its job is led, and on no other node", async () => {
  const { lastSeq } = await worker.call("health", {});
  const { body } = await worker.open("events", { after: lastSeq });
  const gate = join(worker.home, "gate-of-growth");
  const { id } = await head.submit(`echo here; until [ -e ${gate} ]; do sleep 0.05; done`, {
    nodes: 2,
  });
  await until(async () => (await head.log(id)).includes("rank=1) here") || undefined);
  writeFileSync(gate, "");
  const kinds = new Set<string>();
  for await (const { jobId, kind, status } of eventsOf(body)) {
    if (jobId === id) kinds.add(kind);
    if (jobId === id && status === "ENDED") break;
  }

  assert.deepEqual(kinds, new Set(["part"]));
});

test("one rank that fails ends the others, and the job says which it was", async () => {
  const run = '[ "$OUTRIGGER_NODE_RANK" = 1 ] && exit 3; sleep 1000';
  const { id } = await head.submit(run, { nodes: 2 });
  const job = await head.untilJob(id);

  assert.equal(job.status, "FAILED");
  assert.equal(job.reason, "rank 1: run exited with 3");
  assert.equal(job.exitCode, 3);
  const parts = await head.call("listParts", { id });
  assert.deepEqual(
    parts.map(({ exitCode }) => exitCode),
    [137, 3],
  );
  assert.deepEqual(findTree({ roots: [], mark: markOf(head.home, id) }), []);
});

test("a setup that fails on one rank lets none run", async () => {
  const setup = '[ "$OUTRIGGER_SETUP_NODE_RANK" = 0 ] || exit 9';
  const { id } = await head.submit("touch ~/ran", { setup, nodes: 2 });
  const job = await head.untilJob(id);

  assert.equal(job.status, "FAILED_SETUP");
  assert.equal(job.reason, "rank 1: setup exited with 9");
  assert.equal(existsSync(join(head.home, "ran")), false);
});

test("a job on several nodes is CANCELLED once every rank has ended", async () => {
  const { id } = await head.submit("setsid sleep 1000 & sleep 1000", { nodes: 2 });
  await until(async () => {
    const parts = await head.call("listParts", { id });
    return parts.every(({ status }) => status === "RUNNING") || undefined;
  });
  await head.call("cancelJob", { id, graceMs: 1_000 });
  assert.deepEqual(findTree({ roots: [], mark: markOf(head.home, id) }), []);

  assert.equal((await head.untilJob(id)).status, "CANCELLED");
  assert.deepEqual(findTree({ roots: [], mark: markOf(worker.home, id) }), []);
});

test("killed agents come back to a job on several nodes; no line is lost, torn or repeated", async () => {
  // Each rank writes on until it is told that all kills are over, however long they took.
  const pause = "exec 9<> <(:)";
  const line = 'printf "line "; printf "$i\\n"; [ -e ~/over ] && break; read -rt 0.005 -u 9';
  const run = `${pause}; for ((i = 1; ; i++)); do ${line}; done; printf "end $i"`;
  const { id } = await head.submit(run, { nodes: 2 });
  for (const agent of [head, worker, head]) {
    const { length } = await head.log(id);
    await until(async () => (await head.log(id)).length > length + 200 || undefined);
    await agent.end("SIGKILL");
    await agent.start();
  }
  for (const { home } of [head, worker]) writeFileSync(join(home, "over"), "");
  assert.equal((await head.untilJob(id)).status, "SUCCEEDED");

  const log = (await head.log(id)).split("\n");
  const ofRanks = ["(head, rank=0) ", "(worker1, rank=1) "].map((prefix) =>
    log.filter((line) => line.startsWith(prefix)).map((line) => line.slice(prefix.length)),
  );
  for (const told of ofRanks) {
    const count = told.length - 1;
    const counted = Array.from({ length: count }, (_, i) => `line ${i + 1}`);
    assert.deepEqual(told, [...counted, `end ${count}`]);
  }
  assert.equal(ofRanks.flat().length + 1, log.length);
});

test("bytes of a log that come twice are taken once, a gap is refused, late news changes nothing", async (t) => {
  const [head, worker] = await startPair(t);
  const { id } = await head.submit("true", { nodes: 2 });
  await until(async () => (await head.call("listParts", { id })).length === 2 || undefined);
  const append = (offset: number, bytes: string) =>
    head.call("appendPartLog", { id, rank: 1, offset }, Buffer.from(bytes));

  assert.deepEqual(await append(0, "one\ntwo"), { logBytes: 7 });
  assert.deepEqual(await append(4, "two\n"), { logBytes: 8 });
  assert.deepEqual(await append(0, "one\n"), { logBytes: 8 });
  await assert.rejects(append(9, "x"), { name: "ConflictError", message: /has 8 bytes of rank 1/ });

  const spec = await head.call("getPartSpec", { id });
  await head.call("reportPart", { id, rank: 1, status: "READY", exitCode: null });
  const parts = await head.call("reportPart", { id, rank: 1, status: "WAITING", exitCode: null });
  assert.equal(parts[1]?.status, "READY");

  assert.equal((await worker.call("putPart", { id, wanted: "end" })).status, "ENDED");
  assert.equal((await worker.call("putPart", { id, wanted: "setup", spec })).status, "ENDED");
  await assert.rejects(worker.call("putPart", { id: 9, wanted: "run" }), { name: "ValueError" });
  await assert.rejects(worker.submit("true"), { name: "ConflictError" });
});

const markOf = (home: string, id: number) => `OUTRIGGER_JOB_FOLDER=${home}/.outrigger/jobs/${id}`;
