import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { notRecovered } from "../../contract/job-loss.ts";
import { until } from "../helpers/agent.ts";
import { commandLine } from "./command-line.ts";
import { fakeControl, sendJson } from "./fake-control.ts";
import { aJob, page } from "./managed-jobs.ts";

/** What a job does with an input: its result, an exit code, or an end of the whole job as this status. */
type Fate =
  | string
  | number
  | { readonly ends: "FAILED" | "CANCELLED" | "never"; readonly early?: true };

interface Stage {
  readonly fate: (index: number, job: number) => Fate;
  readonly lines?: readonly string[];
  /** Why jobs fail. */
  readonly details?: string;
  /** Launches whose answer is lost. */
  readonly lost?: number;
}

/** A map of four inputs, or of these lines, against a control plane whose jobs run as the stage says. */
async function stage(
  t: TestContext,
  { fate, lines = ["a", "b", "c", "d"], details = "gone", lost = 0 }: Stage,
) {
  const launched: { readonly job: number; readonly indices: number[]; readonly tag: string }[] = [];
  const answers = new Map<string, unknown>();
  const submissions = new Map<unknown, number[]>();
  let losses = lost;
  const answer = (res: ServerResponse, value: unknown, text: string, isWhole = true) => {
    const id = `request-${answers.size}`;
    answers.set(id, value);
    res.writeHead(200, { "x-skypilot-request-id": id }).write(text);
    if (isWhole) res.end();
  };
  const control = await fakeControl(t, {
    "POST /jobs/launch": ({ body }, res) => {
      const task = String(body.task);
      const [, tag = ""] = /<<'(\S+)-run'/.exec(task) ?? [];
      const [, chunks = ""] = /chunks=\((.*)\)/.exec(task) ?? [];
      const known = submissions.get(body.submission_id);
      const ids =
        known ??
        chunks.split(" ").map((chunk) => {
          const ranges = [...chunk.matchAll(/(\d+),(\d+)\{/g)].map(([, ...ends]) =>
            ends.map(Number),
          );
          const indices = ranges.flatMap(([from = 0, to = 0]) =>
            Array.from({ length: to - from + 1 }, (_, at) => from - 1 + at),
          );
          return launched.push({ job: launched.length + 1, indices, tag });
        });
      submissions.set(body.submission_id, ids);
      losses -= 1;
      if (losses >= 0) return void res.destroy();
      answer(res, { job_id: ids, handle: null }, "null");
    },
    "POST /jobs/logs": ({ body }, res) => {
      const { job, indices, tag } = launched[Number(body.job_id) - 1] ?? assert.fail();
      let code = 0;
      let text = "";
      for (const index of indices) {
        const what = fate(index, job);
        if (typeof what !== "object" || !what.early) text += `unended ${tag} ${index} begin\n`;
        if (typeof what === "object") {
          if (what.ends === "never") return answer(res, code, text, false);
          code = what.ends === "FAILED" ? 100 : 103;
          break;
        }
        if (typeof what === "number") text += `${tag} ${index} exit ${what}\n`;
        else text += `${tag} ${index} result ${what.length} ${btoa(what)}\n`;
        if (typeof what === "number") code = 100;
      }
      answer(res, code, text);
    },
    "POST /jobs/queue/v2": (_seen, res) =>
      answer(res, page(aJob({ status: "FAILED", details })).result, "null"),
    "GET /api/get": ({ query }, res) => {
      const value = answers.get(query.get("request_id") ?? "");
      sendJson(res, 200, { status: "SUCCEEDED", return_value: JSON.stringify(value) });
    },
    "GET /upload_v2/blob": (_seen, res) => sendJson(res, 200, { exists: true }),
  });
  const outrigger = await commandLine(t, control.endpoint);
  const file = (name: string) => join(outrigger.folder, name);
  writeFileSync(file("inputs"), lines.join("\n"));
  const map = (flags: string[] = [], more: Parameters<typeof outrigger>[1] = {}) => {
    const files = ["--inputs", "inputs", "--results", "results"];
    return outrigger(["jobs", "map", ...files, "--num-jobs", "2", ...flags], more);
  };
  const results = () =>
    readFileSync(file("results"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  return { map, results, launched, file, control };
}

test("inputs that are not there are a usage error, and each map has a name and says how to look at its jobs", async (t) => {
  const { map, control, file } = await stage(t, { fate: () => "1" });

  const missing = await map(["--inputs", "none", "true"]);
  const { stderr } = await map(["true"]);

  assert.equal(missing.code, 2);
  assert.equal(missing.stderr, `error: --inputs: there is no file ${file("none")}\n`);
  assert.match(stderr, /^ {2}jobs +outrigger jobs queue --skip-finished$/m);
  assert.equal(control.to("POST /jobs/launch")[0]?.body["name"], "map");
});

test("`outrigger jobs map` collects results in order, and runs again what failed", async (t) => {
  const fate = (index: number, job: number) => (index === 1 && job === 1 ? 4 : `r${index}`);
  const { map, results, launched } = await stage(t, { fate });

  const { code, stderr } = await map(["-p", "warm", "-o", "json", "true"]);

  assert.equal(code, 0, stderr);
  assert.deepEqual(
    results(),
    [0, 1, 2, 3].map((index) => ({ index, result: `r${index}` })),
  );
  assert.deepEqual(
    launched.map(({ indices }) => indices),
    [[0, 1], [2, 3], [1]],
  );
});

test("an input that always fails is given up after its retries, and the exit code is 100", async (t) => {
  const { map, results, launched } = await stage(t, { fate: (index) => (index === 2 ? 4 : "1") });

  const { code, stdout } = await map(["--retries", "1", "-o", "json", "true"]);

  assert.equal(code, 100);
  assert.deepEqual(results()[2], { index: 2, error: "exit code 4", job: 3 });
  assert.equal(launched.length, 3);
  const { results: written, ...counts } = JSON.parse(stdout);
  assert.deepEqual(counts, { inputs: 4, succeeded: 3, failed: 1 });
  assert.ok(existsSync(written));
});

test("of a job that is lost, what is not recorded is run again; what it was at counts as failed", async (t) => {
  const lost: Fate = { ends: "FAILED" };
  const { map, results, launched } = await stage(t, {
    fate: (index) => (index === 1 ? lost : "0"),
    lines: ["a", "b", "c", "d", "e", "f"],
  });

  const { code } = await map(["--retries", "1", "true"]);

  assert.equal(code, 100);
  assert.deepEqual(
    launched.map(({ indices }) => indices),
    [[0, 1, 2], [3, 4, 5], [1, 2], [2]],
  );
  assert.match(results()[1].error, /^managed job 3 ended as FAILED before: gone$/);
});

test("a worker that is lost before an input began counts for none", async (t) => {
  const { map, results, launched } = await stage(t, {
    fate: (index, job) => (job < 6 && index < 2 ? { ends: "FAILED", early: true } : "0"),
    details: notRecovered,
  });

  assert.equal((await map(["--retries", "1", "true"])).code, 0);
  assert.equal(results().length, 4);
  assert.deepEqual(launched.at(-1)?.indices, [0, 1]);
});

test("inputs that change while they are mapped are noticed", async (t) => {
  const { map, file } = await stage(t, {
    fate: () => {
      writeFileSync(file("inputs"), "other\n");
      return 1;
    },
  });

  const { code, stderr } = await map(["true"]);

  assert.equal(code, 5);
  assert.match(stderr, /inputs has changed; restore it, then run the same command again/);
});

test("after an interruption the same command goes on with the jobs that there are", async (t) => {
  let isStuck = true;
  const { map, results, launched, file } = await stage(t, {
    fate: (index) => (index === 3 && isStuck ? { ends: "never" } : "1"),
  });
  const interrupt = new AbortController();
  const isKnown = () =>
    existsSync(file("results.partial")) &&
    readFileSync(file("results.partial"), "utf8").includes('"index":2');
  const interrupted = map(["true"], { signal: interrupt.signal });
  await until(() => isKnown() || undefined);
  interrupt.abort();
  const { code, stderr } = await interrupted;
  assert.deepEqual([code, existsSync(file("results"))], [130, false]);
  assert.match(stderr, /outrigger jobs cancel (1 )?2/);
  // As if the client had been killed while it wrote.
  writeFileSync(file("results.partial"), '{"index":3,"res', { flag: "a" });

  isStuck = false;
  assert.equal((await map(["true"])).code, 0);
  assert.equal(results().length, 4);
  assert.equal(launched.length, 2, "no job is launched again");
});

test("a launch whose answer was lost is sent again as the same one", async (t) => {
  const { map, results, launched } = await stage(t, { fate: () => "1", lost: 1 });
  assert.notEqual((await map(["true"])).code, 0);

  assert.equal((await map(["true"])).code, 0);
  assert.deepEqual([results().length, launched.length], [4, 2]);
});

test("inputs of cancelled jobs are left for the same command to run", async (t) => {
  let isCancelled = true;
  const { map, results, launched } = await stage(t, {
    fate: (index) => (index === 3 && isCancelled ? { ends: "CANCELLED" } : "1"),
  });

  const { code, stderr } = await map(["true"]);
  assert.deepEqual([code, /3 succeeded, 0 failed/.test(stderr)], [103, true]);
  isCancelled = false;
  assert.equal((await map(["true"])).code, 0);
  assert.deepEqual([results().length, launched.at(-1)?.indices], [4, [3]]);
});

test("a result is kept as the JSON that it is, else as a text", async (t) => {
  const texts = ['{"id": 12345678901234567890,\n "a": []}\n', "a\nb\n", "", "0x1"];
  const { map, file } = await stage(t, { fate: (index) => texts[index] ?? "" });

  await map(["true"]);

  const expected = ['{"id": 12345678901234567890,  "a": []}', '"a\\nb"', "null", '"0x1"'];
  assert.deepEqual(
    readFileSync(file("results"), "utf8").trimEnd().split("\n"),
    expected.map((result, index) => `{"index":${index},"result":${result}}`),
  );
});

const refusals: readonly [why: string, flags: string[], task: string, says: RegExp][] = [
  ["several tasks", [], "name: a\n---\nrun: b\n---\nrun: c\n", /mapped over one task/],
  ["a task without run", [], "setup: a\n", /the task has no `run`/],
  ["several nodes", ["--num-nodes", "2"], "run: a\n", /runs on one node/],
];
for (const [why, flags, task, says] of refusals)
  test(`a map is refused for ${why}`, async (t) => {
    const { map, launched, file } = await stage(t, { fate: () => "" });
    writeFileSync(file("task.yaml"), task);

    const { code, stderr } = await map([...flags, "task.yaml"]);

    assert.equal(code, 2);
    assert.match(stderr, says);
    assert.deepEqual([launched.length, existsSync(file("results.partial"))], [0, false]);
  });

test("what is known of other inputs is not taken for that of these", async (t) => {
  const { map, file } = await stage(t, { fate: () => ({ ends: "CANCELLED" }) });
  await map(["true"]);
  writeFileSync(file("inputs"), "other\n");

  const { code, stderr } = await map(["true"]);

  assert.equal(code, 2);
  assert.match(stderr, /results.partial belongs to other inputs/);
});
