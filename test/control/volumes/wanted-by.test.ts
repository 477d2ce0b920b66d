import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { jobOperations as jobs } from "../../../contract/operations/jobs.ts";
import { serveOperations as serve } from "../../../contract/operations/serve.ts";
import { volumeOperations as rows } from "../../../contract/operations/volumes.ts";
import { aTask, serviceBed } from "../services/bed.ts";

const nfs = { volume_type: "nfs", cloud: "", config: { server: "nas", path: "/export" } };
const attach = "volumes: {/mnt/data: data}\n";

test("a volume is in use by jobs and services also while they have no cluster", async (t) => {
  const { world } = await serviceBed(t);
  await world.run(rows.apply, { name: "data", ...nfs });
  await world.run(rows.apply, { name: "other", ...nfs });
  world.provider.refuses("fake", new AppError("ResourcesUnavailableError", "no capacity"));
  await world.run(jobs.launch, { name: "train", task: `${attach}run: train` });
  const task = aTask("", attach).replace("replicas: 2", "replicas: 0");
  await world.run(serve.up, { task, service_name: "chat" });

  await assert.rejects(world.run(rows.delete, { names: ["data"] }), {
    type: "ConflictError",
    message: "volume data is in use by managed job 1 (train), service chat; take them down first",
  });
  await world.run(rows.delete, { names: ["other"] });
});
