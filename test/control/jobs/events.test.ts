import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { GivenInputOf } from "../../../common/operation.ts";
import { missingEnd } from "../../../contract/job-log.ts";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { belowDownloads, downloadsOf } from "../../../control/downloads.ts";
import { until } from "../../helpers/agent.ts";
import { type JobBed, withJob } from "./bed.ts";

/** A job of which the first attempt lost its machine and the second one runs. */
async function recovered(t: Parameters<typeof withJob>[0]): Promise<JobBed> {
  const bed = await withJob(t);
  (await bed.agent(1)).print(1, "one\n");
  const followed = bed.world.http("POST", "/jobs/logs", { body: { job_id: 1 } });
  const isKept = async () => /one/.test((await logOf(bed)).text) || undefined;
  await until(isKept);
  await bed.world.provider.lose((await bed.task(1)).clusterId ?? "", 0);
  await bed.untilAttempt(1, 2);
  const agent = await bed.agent(1);
  agent.print(1, "two\n");
  agent.end(1, "SUCCEEDED");
  await followed;
  await bed.untilSettled(1);
  return bed;
}

const logOf = ({ world }: JobBed) =>
  world.http("POST", "/jobs/logs", { body: { job_id: 1, follow: false } });

test("events tell what happened to a job, newest first, from its submission on", async (t) => {
  const bed = await recovered(t);
  const events = (input: Partial<GivenInputOf<typeof rows.events>> = {}) =>
    bed.world.run(rows.events, { job_id: 1, limit: null, ...input });

  const all = await events();
  const moves = all.filter(({ new_status }, at) => new_status !== all[at + 1]?.new_status);

  assert.deepEqual(moves.map(({ new_status }) => new_status).reverse(), [
    ...["PENDING", "STARTING", "RUNNING", "RECOVERING", "RUNNING", "SUCCEEDED"],
  ]);
  assert.equal(all.at(-1)?.reason, "submitted by local");
  const lost = all.find(({ new_status: status }) => status === "RECOVERING");
  assert.partialDeepStrictEqual(lost, { spot_job_id: 1, task_id: 0, code: null });
  assert.ok(all.some(({ reason }) => reason === "its machine is gone"));
  assert.deepEqual(await events({ limit: 2 }), all.slice(0, 2));
  assert.equal((await bed.world.run(rows.events, { job_id: 1 })).length, Math.min(10, all.length));
  assert.deepEqual(await events({ job_id: 9 }), []);
  assert.deepEqual(await events({ task: 0 }), all);
  await assert.rejects(events({ task: "eval" }), { message: "managed job 1 has no task eval" });
});

test("events of clusters that are gone are told with those of their job", async (t) => {
  const bed = await recovered(t);

  const all = await bed.world.run(rows.events, {
    ...{ job_id: 1, limit: null, include_cluster_events: true },
  });

  const ups = all.filter(({ reason }) => reason === "cluster train-1: INIT → UP: every node runs");
  assert.deepEqual(
    ups.map(({ new_status: status }) => status),
    ["RECOVERING", "STARTING"],
  );
});

test("the log of every attempt is downloaded, or what was decided", async (t) => {
  const bed = await recovered(t);
  const { ctx } = bed.world;
  const folderOf = async (controller: boolean) => {
    const input = { job_id: 1, name: null, controller };
    const { 1: place = "" } = await bed.world.run(rows.downloadLogs, input);
    return join(downloadsOf(ctx, "local"), belowDownloads(place) ?? "");
  };

  const logs = await folderOf(false);
  const decisions = await folderOf(true);

  assert.deepEqual(readdirSync(logs), ["attempt-1.log", "attempt-2.log"]);
  assert.equal(readFileSync(join(logs, "attempt-1.log"), "utf8"), `one\n${missingEnd}`);
  assert.equal(readFileSync(join(logs, "attempt-2.log"), "utf8"), "two\n");
  assert.deepEqual(readdirSync(decisions), ["controller.log"]);
  assert.match(readFileSync(join(decisions, "controller.log"), "utf8"), /RECOVERING: its machine/);
  assert.deepEqual(await bed.world.run(rows.downloadLogs, { job_id: 9, name: null }), {});
});
