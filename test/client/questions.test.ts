import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine, wordsOf } from "./command-line.ts";
import { fakeControl } from "./fake-control.ts";
import { two, usual } from "./usual-routes.ts";

const ctrlC = "\u0003";
const ctrlD = "\u0004";

const withJobs = { ...usual, "POST /queue": { result: [{ job_id: 7 }, { job_id: 5 }] } };

/** A command line, what is typed at its question, its exit code, and how often it acts. */
const answers: readonly [string, string, number, string, number][] = [
  ["down dev", "y\n", 0, "POST /down", 1],
  ["down dev", "YES\n", 0, "POST /down", 1],
  ["down dev", "\n", 1, "POST /down", 0],
  ["down dev", "n\n", 1, "POST /down", 0],
  ["down dev", "", 1, "POST /down", 0],
  ["down dev", ctrlD, 1, "POST /down", 0],
  ["down dev", ctrlC, 130, "POST /down", 0],
  ["down dev", "what\ny\n", 0, "POST /down", 1],
  ["down dev", "what\nno\n", 1, "POST /down", 0],
  ["stop dev", "\n", 0, "POST /stop", 1],
  ["start dev", "\n", 0, "POST /start", 1],
  ["launch -d -c dev x", "\n", 0, "POST /launch", 1],
  ["launch -d -c dev x", "n\n", 1, "POST /launch", 0],
  ["stop 'de*'", "\n", 1, "POST /stop", 0],
  ["stop --all", "\n", 1, "POST /stop", 0],
  ["cancel dev 7", "\n", 0, "POST /cancel", 1],
  ["cancel dev --all", "\n", 1, "POST /cancel", 0],
  ["cancel dev", "\n", 1, "POST /cancel", 0],
  ["api cancel --all", ctrlC, 130, "POST /api/cancel", 0],
];

for (const [line, typed, expected, route, calls] of answers)
  test(`\`outrigger ${line}\`, answered ${JSON.stringify(typed)}, ends with ${expected}`, async (t) => {
    const control = await fakeControl(t, withJobs);
    const outrigger = await commandLine(t, control.endpoint);

    const { code, stderr } = await outrigger(wordsOf(line), { typed });

    assert.equal(control.to(route).length, calls);
    assert.equal(/^Nothing was changed\.$/m.test(stderr), calls === 0, stderr);
    assert.equal(code, expected);
  });

test("who sees the question is asked, also where the answer comes from no terminal", async (t) => {
  const control = await fakeControl(t, usual);
  const outrigger = await commandLine(t, control.endpoint);

  const no = await outrigger(["down", "dev"], { piped: "n\n" });
  const nothing = await outrigger(["down", "dev"], { piped: "" });
  assert.equal(control.to("POST /down").length, 0);
  const yes = await outrigger(["down", "dev"], { piped: "y\n" });
  const unseen = await outrigger(["down", "dev"]);

  assert.deepEqual([no.code, nothing.code, yes.code, unseen.code], [1, 1, 0, 0]);
  assert.match(nothing.stderr, /There was no answer\. Pass -y .*\nNothing was changed\.\n$/);
  assert.doesNotMatch(no.stderr, /no answer/);
  assert.equal(control.to("POST /down").length, 2);
});

test("who is asked about a cluster is told which jobs end with it", async (t) => {
  const control = await fakeControl(t, withJobs);
  const outrigger = await commandLine(t, control.endpoint);

  for (const verb of ["stop", "down"]) {
    const { stderr } = await outrigger([verb, "dev"], { typed: "n\n" });
    assert.match(stderr, /^Jobs 5, 7 of dev have not ended, and will be cancelled\.\n.*dev\? /m);
  }
  const asked = control.to("POST /queue").length;
  await outrigger(["stop", "-y", "dev"], { typed: "" });
  assert.equal(control.to("POST /queue").length, asked, "only for whoever is asked");
});

test("nobody is asked about a cluster that there is not", async (t) => {
  const control = await fakeControl(t, { ...usual, "POST /status": two });
  const outrigger = await commandLine(t, control.endpoint);

  for (const line of ["cancel dve", "cancel dve 7", "down dve", "autostop dve -i 5"]) {
    const { code, stderr } = await outrigger(wordsOf(line), { typed: "y\n" });
    assert.equal(code, 3, line);
    assert.match(stderr, /there is no cluster dve; did you mean `dev`\?\n$/, line);
  }
});

test("nobody is asked about a job that there is not", async (t) => {
  const result = { 7: "RUNNING", 8: null, 99: null };
  const control = await fakeControl(t, { ...usual, "POST /job_status": { result } });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stderr } = await outrigger(wordsOf("cancel dev 7 8 99"), { typed: "y\n" });

  assert.equal(code, 3);
  assert.match(stderr, /cluster dev has no job 8, 99; list them with: outrigger queue\n$/);
  assert.deepEqual(control.to("POST /job_status")[0]?.body["job_ids"], [7, 8, 99]);
  assert.equal(control.to("POST /cancel").length, 0);
});

test("who is asked about jobs is told which, and no other is cancelled", async (t) => {
  const control = await fakeControl(t, withJobs);
  const outrigger = await commandLine(t, control.endpoint);
  const cases = [
    ["cancel dev", "Cancel your latest running job on dev: job 7?", { job_ids: [7], all: false }],
    [
      "cancel dev -a",
      "Cancel all of your jobs on dev: 2 jobs (7, 5)?",
      { job_ids: null, all: true },
    ],
    ["cancel dev -u", "Cancel all jobs of all users on dev: 2 jobs (7, 5)?", { all_users: true }],
    ["cancel dev 7", "Cancel job 7 on dev?", { job_ids: [7], all: false }],
  ] as const;

  for (const [line, question, sent] of cases) {
    const { code, stderr } = await outrigger(wordsOf(line), { typed: "y\n" });

    assert.equal(code, 0, stderr);
    assert.ok(stderr.includes(question), stderr);
    assert.partialDeepStrictEqual(control.to("POST /cancel").at(-1)?.body, sent);
    const unasked = await outrigger(wordsOf(`${line} -y`), { typed: "" });
    assert.equal(unasked.code, 0);
    assert.doesNotMatch(unasked.stderr, /\?/);
  }
  assert.equal(control.to("POST /cancel").length, 2 * cases.length);
});

test("jobs of several clusters are not cancelled at once, and nobody is asked whether", async (t) => {
  const control = await fakeControl(t, withJobs);
  const outrigger = await commandLine(t, control.endpoint);

  for (const line of ["cancel 'd*'", "cancel 'd*' -y"]) {
    const { code, stderr } = await outrigger(wordsOf(line), { typed: "y\n" });

    assert.equal(code, 2, line);
    assert.match(stderr, /d\* is a pattern; name a single cluster\n$/);
  }
  assert.equal(control.to("POST /cancel").length, 0);
});

test("nobody is asked about jobs where none runs; how the latest one is, is told", async (t) => {
  const latest = { result: { 7: "FAILED_SETUP" } };
  const control = await fakeControl(t, { ...usual, "POST /job_status": latest });
  const outrigger = await commandLine(t, control.endpoint);

  const { code, stderr } = await outrigger(wordsOf("cancel dev -a"), { typed: "" });

  const told = "No job to cancel on dev.\nJob 7 on dev is FAILED_SETUP already.\n";
  assert.deepEqual([code, stderr], [0, told]);
});

test("a question says what an empty answer means, and is asked again when not understood", async (t) => {
  const control = await fakeControl(t, { ...usual, "POST /status": two });
  const outrigger = await commandLine(t, control.endpoint);

  const one = await outrigger(["stop", "dev", "dev-2"], { typed: "n\n" });
  const sweep = await outrigger(["stop", "-a"], { typed: "n\n" });
  const twice = await outrigger(["down", "dev", "dev-2"], { typed: "maybe\nn\n" });

  assert.match(one.stderr, /Stop 2 clusters: dev, dev-2\? \[Y\/n\]/);
  assert.match(sweep.stderr, /Stop 2 clusters: dev, dev-2\? \[y\/N\]/);
  assert.equal(twice.stderr.match(/Tear down 2 clusters: dev, dev-2\? \[y\/N\]/g)?.length, 2);
});

test("who is asked to tear down a stopped cluster is told that its hooks will not run", async (t) => {
  const hooks = [{ events: ["down"], timeout: 60, run: "save" }];
  const [dev, dev2] = two.result as object[];
  const result = [
    { ...dev, hooks },
    { ...dev2, hooks },
  ];
  const control = await fakeControl(t, { ...usual, "POST /status": { result } });
  const outrigger = await commandLine(t, control.endpoint);
  const told = /^dev-2 is STOPPED: its hooks for down will not run/m;

  const down = await outrigger(["down", "dev", "dev-2"], { typed: "n\n" });
  const start = await outrigger(["start", "dev-2"], { typed: "n\n" });
  const sure = await outrigger(["down", "-y", "dev", "dev-2"]);

  assert.match(down.stderr, told);
  assert.equal(down.stderr.match(/will not run/g)?.length, 1);
  for (const { stderr } of [start, sure]) assert.doesNotMatch(stderr, told);
});
