import assert from "node:assert/strict";
import { test } from "node:test";
import { type Allocation, readQueue, stateOf } from "../../../../control/providers/slurm/queue.ts";

const aJob = (jobId: number, why: string, control = "ours") => {
  const label = { control, id: `c${jobId}`, cluster: { name: "demo", nodes: 1 } };
  return `${jobId}|PENDING|${why}|2026-11-26T15:17:45||low|${100 - jobId}|${JSON.stringify(label)}`;
};

test("a job that waits tells why, its position and its estimated start", () => {
  const queue = readQueue(
    `${aJob(7, "Resources")}\n${aJob(8, "Priority", "another")}\n--\n5|low|95|0|\n6|high|94|0|\n7|low|93|0|\n`,
    "ours",
  );

  assert.deepEqual([...queue.keys()], ["c7"]);
  assert.equal(
    queue.get("c7")?.reason,
    "Slurm job 7: Resources, position 2 in partition low, estimated start 2026-11-26T15:10",
  );
});

test("the position counts older jobs of the same priority, and jobs that would take any of its partitions", () => {
  const positionOf = (asked: string, waiting: string) => {
    const line = aJob(7, "Priority").replace("|low|", `|${asked}|`);
    const job = readQueue(`${line}\n--\n${waiting}\n7|${asked}|93|0|\n`, "ours").get("c7");
    return /position \d+ in partition \S+,/.exec(job?.reason ?? "")?.[0];
  };

  assert.equal(positionOf("low", "6|low|93|0|\n8|low|93|0|"), "position 2 in partition low,");
  const others = "8|high,low|94|0|\n9|low|94|0|\n10|gpu|94|0|";
  assert.equal(positionOf("low", others), "position 3 in partition low,");
  assert.equal(positionOf("low,gpu", others), "position 4 in partition low,gpu,");
});

test("a job that was requeued waits again, and is lost to whom needs what it had", () => {
  const job = readQueue(`${aJob(7, "BeginTime")}\n--\n7|low|93|1|\n`, "ours").get("c7");

  const { state, reason, gone } = stateOf(job as Allocation);
  assert.deepEqual([state, gone], ["pending", "Slurm requeued job 7"]);
  assert.match(`${reason}`, /^Slurm requeued job 7: BeginTime, position 1 in partition low/);
});

test("how an allocation was lost is told", () => {
  const toldOf = (state: string) => {
    const line = aJob(7, "None").replace("PENDING", state);
    const { gone, over } = stateOf(readQueue(line, "ours").get("c7") as Allocation);
    return gone ?? over;
  };

  assert.deepEqual(["PREEMPTED", "NODE_FAIL", "TIMEOUT", "CANCELLED"].map(toldOf), [
    "Slurm preempted job 7",
    "a node failed under job 7",
    "its allocation reached its time limit (job 7)",
    "its allocation was cancelled in Slurm (job 7)",
  ]);
});

test("a job that Slurm will never start is told from one that waits for its turn", () => {
  const isHopeless = (why: string) => readQueue(aJob(1, why), "ours").get("c1")?.isHopeless;

  for (const why of ["Priority", "Resources", "QOSMaxJobsPerUserLimit", "AssocGrpGRES"])
    assert.equal(isHopeless(why), false, why);
  const account = "Job's account not known, so it can't use this partition (closed allows physics)";
  for (const why of [
    "PartitionTimeLimit",
    "InvalidQOS",
    "QOSMaxGRESPerJob",
    "AssocMaxCpuPerJobLimit",
    account,
  ])
    assert.equal(isHopeless(why), true, why);
});
