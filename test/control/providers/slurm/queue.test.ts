import assert from "node:assert/strict";
import { test } from "node:test";
import { readQueue } from "../../../../control/providers/slurm/queue.ts";

const aJob = (jobId: number, why: string, control = "ours") => {
  const label = { control, id: `c${jobId}`, cluster: { name: "demo", nodes: 1 } };
  return `${jobId}|PENDING|${why}|2026-11-26T15:17:45||low|${100 - jobId}|${JSON.stringify(label)}`;
};

test("a job that waits tells why, its position and its estimated start", () => {
  const queue = readQueue(
    `${aJob(7, "Resources")}\n${aJob(8, "Priority", "another")}\n--\n5|low|95\n6|high|94\n7|low|93\n`,
    "ours",
  );

  assert.deepEqual([...queue.keys()], ["c7"]);
  assert.equal(
    queue.get("c7")?.reason,
    "Slurm job 7: Resources, position 2 in partition low, estimated start 2026-11-26T15:10",
  );
});

test("a job that Slurm will never start is told from one that waits for its turn", () => {
  const isHopeless = (why: string) => readQueue(aJob(1, why), "ours").get("c1")?.isHopeless;

  for (const why of ["Priority", "Resources", "QOSMaxJobsPerUserLimit", "AssocGrpGRES"])
    assert.equal(isHopeless(why), false, why);
  const account = "Job's account not known, so it can't use this partition (closed allows physics)";
  for (const why of ["PartitionTimeLimit", "InvalidQOS", "QOSMaxGRESPerJob", account])
    assert.equal(isHopeless(why), true, why);
});
