import assert from "node:assert/strict";
import { appendFileSync, readFileSync, renameSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { logOf, makeFolder, rankLogOf } from "../../../agent/folders.ts";
import { mergeLogs } from "../../../agent/jobs/merge.ts";
import { addPart } from "../../../agent/jobs/part-store.ts";
import { addJob } from "../../../agent/jobs/store.ts";
import { prefixLines } from "../../../common/prefix-lines.ts";
import { JobSubmission } from "../../../contract/agent-shapes.ts";
import { aSubmission, until } from "../../helpers/agent.ts";
import { aWorld } from "../world.ts";

const cases = [
  ["", ""],
  ["a\n", "> a\n"],
  ["a\nb", "> a\n> b\n"],
  ["\n\n", "> \n> \n"],
  ["ü\r\n", "> ü\r\n"],
] as const;

for (const [lines, expected] of cases)
  test(`every line gets the prefix: ${JSON.stringify(lines)}`, () => {
    assert.equal(prefixLines(Buffer.from(lines), "> ").toString(), expected);
  });

/** A job on two nodes whose logs can be merged, in an agent that runs nothing. */
function aJob(t: TestContext) {
  const warned = Promise.withResolvers<void>();
  const { world: agent } = aWorld(t, {}, () => warned.resolve());
  const submission = JobSubmission.parse(aSubmission("true", { nodes: 2 }));
  const id = addJob(agent.journal, submission, 1);
  makeFolder(agent, id, 2);
  const part = { jobId: id, wanted: "run", status: "RUNNING", exitCode: null } as const;
  for (const rank of [0, 1])
    addPart(agent.journal, { ...part, rank, cpus: 0, accelerators: 0, gpus: [] });
  const print = (rank: number, text: string) => appendFileSync(rankLogOf(agent, id, rank), text);
  return { agent, id, print, path: logOf(agent, id), warned: warned.promise };
}

test("merging that fails goes on where it was once it can", async (t) => {
  const { agent, id, print, path, warned } = aJob(t);
  using merging = mergeLogs(agent, id);
  print(0, "one\n");
  await until(() => readFileSync(path, "utf8") !== "" || undefined);

  renameSync(path, `${path}.away`);
  print(0, "two\n");
  await warned;
  renameSync(`${path}.away`, path);
  print(1, "three");
  await until(() => readFileSync(path, "utf8").includes("two") || undefined);
  await merging.finish();

  assert.equal(
    readFileSync(path, "utf8"),
    "(head, rank=0) one\n(head, rank=0) two\n(worker1, rank=1) three\n",
  );
});
