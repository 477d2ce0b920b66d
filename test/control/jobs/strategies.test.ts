import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { type JobBed, jobBed, withRecovery } from "./bed.ts";

/** A job that runs at the cheapest zone of three regions, of which each later one is dearer. */
async function inThreeRegions(t: Parameters<typeof jobBed>[0], strategy: string): Promise<JobBed> {
  const bed = await jobBed(t);
  const { provider } = bed.world;
  const { offer } = provider;
  assert.ok(offer);
  provider.offer = undefined;
  provider.otherOffers = ["a/1", "a/2", "b/1", "c/1"].map((zone, at) => ({
    ...{ ...offer, infra: `fake/${zone}`, region: zone[0] ?? "", zone },
    dollarsPerHour: at,
  }));
  await bed.launch(withRecovery(strategy));
  assert.equal((await bed.untilTask(1, "RUNNING")).infra, "fake/a/1");
  return bed;
}

/** Where the next attempt runs, after a loss. */
async function afterLoss(bed: JobBed): Promise<string | null> {
  const { attempt, clusterId } = await bed.task(1);
  await bed.world.provider.lose(clusterId ?? "", 0);
  return (await bed.untilAttempt(1, attempt + 1)).infra;
}

const full = new AppError("ResourcesUnavailableError", "none left", { refusal: "capacity" });

test("EAGER_NEXT_REGION goes to another region, and comes back when that is lost", async (t) => {
  const bed = await inThreeRegions(t, "EAGER_NEXT_REGION");

  assert.equal(await afterLoss(bed), "fake/b/1");
  assert.equal(await afterLoss(bed), "fake/a/1");
});

test("EAGER_NEXT_REGION stays where no other region has a machine", async (t) => {
  const bed = await inThreeRegions(t, "EAGER_NEXT_REGION");
  for (const infra of ["fake/b/1", "fake/c/1"]) bed.world.provider.refuses(infra, full);

  assert.equal(await afterLoss(bed), "fake/a/1");
});

test("FAILOVER tries the same region first, then the others", async (t) => {
  const bed = await inThreeRegions(t, "FAILOVER");
  bed.world.provider.refuses("fake/a/1", full);
  assert.equal(await afterLoss(bed), "fake/a/2");
  bed.world.provider.refuses("fake/a/2", full);
  assert.equal(await afterLoss(bed), "fake/b/1");
  bed.world.provider.refuses("fake/a/1", undefined);

  assert.equal(await afterLoss(bed), "fake/b/1", "not the cheapest");
});
