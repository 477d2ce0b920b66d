import assert from "node:assert/strict";
import { test } from "node:test";
import { getJob, submitJob } from "../../../agent/jobs/jobs.ts";
import { superviseWork } from "../../../agent/jobs/supervisor.ts";
import { configureNode } from "../../../agent/node.ts";
import { JobSubmission, NodeSettings } from "../../../contract/agent-shapes.ts";
import { aNode, aSubmission, until } from "../../helpers/agent.ts";
import { aWorld } from "../world.ts";

test("a journal that cannot be written for a while does not end the agent, nor the job that waits", async (t) => {
  const { world } = aWorld(t);
  configureNode(world, NodeSettings.parse(aNode()));
  const job = submitJob(world, JobSubmission.parse(aSubmission("true")));
  world.journal.db.exec("PRAGMA query_only = ON");
  const tried = Promise.withResolvers<void>();
  Object.assign(world.log, { error: () => tried.resolve() });
  let left: unknown;
  superviseWork(world).catch((error: unknown) => {
    left = error;
  });
  await tried.promise;
  assert.equal(left, undefined);
  assert.equal(getJob(world, job.id).status, "PENDING");

  world.journal.db.exec("PRAGMA query_only = OFF");

  await until(() => getJob(world, job.id).endedAt ?? undefined);
  assert.equal(getJob(world, job.id).status, "SUCCEEDED");
});
