import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../../helpers/agent.ts";
import { aSiteAlone } from "./fake-site.ts";

const signal = new AbortController().signal;

test("a job that Slurm says late would never start is given up, and its cluster goes elsewhere", async () => {
  const { site, provider, cluster } = await aSiteAlone();
  await provider.create(cluster, 0, signal);
  const [[folder, job] = ["", ""]] = [...site.jobs];
  const says = (why: string) =>
    site.jobs.set(folder, job.replace("RUNNING|None", `PENDING|${why}`));
  const stateThen = (why: string) => {
    says(why);
    return until(async () => {
      const [node] = await provider.list(cluster, signal);
      return node?.state !== "running" && node?.reason?.includes(why) ? node.state : undefined;
    });
  };

  assert.equal(await stateThen("Resources"), "pending");
  assert.equal(await stateThen("PartitionTimeLimit"), "stopped");
  await assert.rejects(provider.create(cluster, 0, signal), {
    type: "ResourcesUnavailableError",
    message: /PartitionTimeLimit/,
  });
  assert.equal(site.jobs.size, 0);
});

test("what an allocation that failed complained of is told, and one that never began is not tried again", async () => {
  const { site, provider, cluster } = await aSiteAlone();
  await provider.create(cluster, 0, signal);
  const [[folder, job] = ["", ""]] = [...site.jobs];
  site.jobs.set(folder, job.replace("RUNNING", "FAILED"));
  const message = "its allocation failed (job 1): c1 has no room";

  assert.equal(await until(async () => (await provider.list(cluster, signal))[0]?.over), message);
  await assert.rejects(provider.create(cluster, 0, signal), {
    type: "ResourcesUnavailableError",
    message,
  });
  assert.equal(site.jobs.size, 0);
});
