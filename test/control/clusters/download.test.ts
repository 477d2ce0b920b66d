import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { until } from "../../helpers/agent.ts";
import { testWorld } from "../../helpers/world.ts";

const name = { cluster_name: "demo" };
const folderOf = (user: string) => `~/.sky/api_server/clients/${user}/sky_logs`;

/** A world in which ann has copied the log of a job. */
async function withCopy(t: TestContext) {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...name, task: "run: 'true'" });
  const { id } = await world.cluster("demo");
  world.provider.agentOf(id).print(1, "what the job said\n");
  const ann = await world.as("ann");
  const paths = await ann.run(rows.downloadLogs, { ...name, job_ids: ["1"] });
  const ask = async (path: string, user = "ann") =>
    (await world.as(user)).http("POST", "/download?relative=items", {
      body: { folder_paths: [path] },
    });
  return { world, ann, paths, ask, real: join(world.home, "control/clients/ann/logs") };
}

test("the log of a job is copied to the caller's folder and comes back as a zip", async (t) => {
  const { paths, ask } = await withCopy(t);

  assert.deepEqual(paths, { 1: `${folderOf("ann")}/demo-1` });
  const answer = await ask(paths["1"] ?? "");

  assert.equal(answer.status, 200);
  assert.equal(answer.headers["content-type"], "application/zip");
  assert.match(answer.text, /^PK[\s\S]*run\.log/);
});

test("a download that is broken off leaves no file open", async (t) => {
  const { ann, paths, real } = await withCopy(t);
  for (const name of ["a", "b", "c"])
    writeFileSync(join(real, "demo-1", name), randomBytes(1_000_000));
  const body = { folder_paths: [paths["1"] ?? ""] };

  for (let round = 0; round < 5; round += 1) {
    const abort = new AbortController();
    const answer = await ann.open("POST", "/download", { body, signal: abort.signal });
    await assert.rejects(async () => {
      for await (const _ of answer.body) abort.abort();
    });
  }

  await until(() => (openFilesIn(real).length === 0 ? true : undefined));
});

/** Files of a folder that this process has open. */
const openFilesIn = (folder: string): string[] =>
  readdirSync("/proc/self/fd")
    .map(targetOf)
    .filter((target) => target.startsWith(folder));

function targetOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return "";
  }
}

test("nothing but the caller's own log folder can be fetched", async (t) => {
  const { ask, real } = await withCopy(t);
  const secret = join(real, "../../../seal.key");
  mkdirSync(join(real, "../../ben/logs/demo-1"), { recursive: true });
  symlinkSync(join(real, "../../.."), join(real, "link"));
  const tricks = [
    "/",
    "/etc",
    secret,
    real,
    "~",
    "~/.ssh",
    `${folderOf("ann")}/..`,
    `${folderOf("ann")}/demo-1/../../../..`,
    `${folderOf("ann")}/%2e%2e`,
    `${folderOf("ann")}/link`,
    `${folderOf("ann")}/link/requests`,
    `${folderOf("ann")}x`,
    "",
    ".",
    "demo-1",
  ];

  for (const trick of tricks) {
    const { status, json } = await ask(trick);
    assert.ok(status === 400 || status === 404, `${JSON.stringify(trick)}: ${status}`);
    assert.equal(typeof json["detail"], "string");
  }
});

test("a link within a folder is left out of the zip", async (t) => {
  const { ask, real, paths, world } = await withCopy(t);
  writeFileSync(join(world.home, "outside.txt"), "outside");
  symlinkSync(join(world.home, "outside.txt"), join(real, "demo-1/link.txt"));

  const answer = await ask(paths["1"] ?? "");

  assert.match(answer.text, /run\.log/);
  assert.doesNotMatch(answer.text, /link\.txt/);
});

test("what is asked for a job must be the id of one", async (t) => {
  const { world } = await withCopy(t);
  const ask = (id: string) => world.run(rows.downloadLogs, { ...name, job_ids: [id] });

  for (const id of ["", "0", "-1", "1e3", "../1", "01", "99999999999"])
    await assert.rejects(ask(id), { type: "ValueError", message: /is not a job id/ });
  await assert.rejects(ask("7"), { type: "JobNotFoundError" });
});

test("the folder has the name that an existing client knows its user by", async (t) => {
  const { ann, ask } = await withCopy(t);
  const env_vars = { SKYPILOT_USER_ID: "0a1b2c3d" };

  const paths = await ann.run(rows.downloadLogs, { ...name, job_ids: ["1"], env_vars });

  assert.deepEqual(paths, { 1: `${folderOf("0a1b2c3d")}/demo-1` });
  assert.equal((await ask(paths["1"] ?? "")).status, 200);
  assert.equal((await ask(paths["1"] ?? "", "ben")).status, 404);
});
