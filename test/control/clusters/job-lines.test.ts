import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job } from "../../../contract/agent-shapes.ts";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { type JobLog, withLines } from "../../../control/clusters/job-lines.ts";
import { testWorld } from "../../helpers/world.ts";

const program = "sky";
const waiting = "├── Waiting for task resources on 1 node.\n";
const started =
  "└── Job started. Streaming logs... (Ctrl-C to exit log streaming; job will not be killed)\n";
const aJob = { id: 7, nodes: 1, status: "RUNNING", reason: null, startedAt: 1 } as Job;

async function* bytes(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text);
}

/** The log of a job that began, as an existing client reads it. */
async function read(ended: Partial<Job>, log: Partial<JobLog> = {}): Promise<string> {
  const lines = withLines(
    { program },
    {
      ...{ nodes: 1, isWhole: true, chunks: bytes("hello\n") },
      async *waits() {},
      begun: async () => aJob,
      ended: async () => ({ ...aJob, ...ended }),
      ...log,
    },
  );
  let text = "";
  for await (const chunk of lines) text += chunk;
  return text;
}

test("the log of a job tells existing clients when it started, and how and why it finished", async () => {
  const start = `${waiting}${started}`;
  assert.equal(
    await read({ status: "SUCCEEDED" }),
    `${start}hello\n✓ Job finished (status: SUCCEEDED).\n`,
  );
  const failed = { status: "FAILED", reason: "run exited with 3" } as const;
  assert.equal(
    await read(failed, { chunks: bytes("a", "b") }),
    `${start}ab\nERROR: Job 7: run exited with 3\n✗ Job finished (status: FAILED).\n`,
  );
});

test("a part of a log has no start, one that goes on no end, and a job that never began neither", async () => {
  assert.equal(await read({}), `${waiting}${started}hello\n`);
  assert.equal(
    await read({ status: "SUCCEEDED" }, { isWhole: false }),
    "hello\n✓ Job finished (status: SUCCEEDED).\n",
  );
  const never = { ...aJob, status: "CANCELLED", startedAt: null } as const;
  const log = { chunks: bytes(), begun: async () => never, ended: async () => undefined };
  assert.equal(await read({}, log), waiting);
});

test("lines are for existing clients; the start of a job is told before it writes anything", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { cluster_name: "demo", task: "run: echo hi" });
  const agent = world.provider.agentOf((await world.cluster("demo")).id);
  const [job] = agent.node.jobs;
  Object.assign(job ?? {}, { status: "PENDING", startedAt: null });
  const follow = (name: string) =>
    world.open("POST", "/logs", {
      body: { cluster_name: "demo", job_id: 1 },
      headers: { [name]: "62" },
    });

  const ours = await follow("x-outrigger-api-version");
  const theirs = await follow("x-skypilot-api-version");
  let text = "";
  for await (const chunk of theirs.body) {
    text += chunk;
    if (text === waiting) {
      Object.assign(job ?? {}, { status: "RUNNING", startedAt: 1 });
      await world.run(rows.exec, { cluster_name: "demo", task: "run: echo another" });
    } else if (text.endsWith(started)) agent.end(1, "SUCCEEDED");
  }

  assert.equal(text, `${waiting}${started}✓ Job finished (status: SUCCEEDED).\n`);
  let plain = "";
  for await (const chunk of ours.body) plain += chunk;
  assert.equal(plain, "");
});

test("our own client is told what a job waits for, again when that changes, and nothing once it starts", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { cluster_name: "demo", task: "run: echo hi" });
  const agent = world.provider.agentOf((await world.cluster("demo")).id);
  const [job] = agent.node.jobs;
  const becomes = (now: Partial<Job>) => Object.assign(job ?? {}, now);
  const waits = (reason: string) => becomes({ status: "PENDING", startedAt: null, reason });
  const ours = { "x-outrigger-api-version": "62" };
  const read = (more: object) =>
    world.open("POST", "/logs", {
      body: { cluster_name: "demo", job_id: 1, ...more },
      headers: ours,
    });
  const next = [
    () => waits("waits for 1 CPU: job 9 uses 1 of 2"),
    () => becomes({ status: "RUNNING", reason: null, startedAt: 1 }),
  ];
  waits("waits for 1 CPU: jobs 8, 9 use all 2");

  let glimpse = "";
  for await (const chunk of (await read({ follow: false })).body) glimpse += chunk;
  let text = "";
  for await (const chunk of (await read({})).body) {
    text += chunk;
    const step = next.shift();
    step?.();
    if (step !== undefined)
      await world.run(rows.exec, { cluster_name: "demo", task: "run: echo another" });
    if (next.length === 0) agent.end(1, "SUCCEEDED");
  }

  const told = (reason: string) =>
    `<sky-payload>"<rich_update>Job 1 waits for 1 CPU: ${reason}</rich_update>"</sky-payload>\n`;
  const first = told("jobs 8, 9 use all 2");
  assert.equal(glimpse, first);
  assert.equal(text, first + told("job 9 uses 1 of 2"));
});
