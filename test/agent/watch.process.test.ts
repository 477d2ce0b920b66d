import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { endTree } from "../../common/end-processes.ts";
import { agentClient, aNode, aSubmission, nodeTree, text, until } from "../helpers/agent.ts";
import { mainOf } from "../helpers/tested.ts";

/** As if others of the user had every watcher there is. */
const unwatched = ["-rU", "sh", "-c", 'echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"'];
const canTakeAll = spawnSync("unshare", [...unwatched, "sh", "true"]).status === 0;

test("logs are followed and merged although nobody may watch a file", {
  skip: canTakeAll ? false : "no user namespace can be made here",
}, async (t) => {
  const home = mkdtempSync(join(tmpdir(), "unwatched-"));
  t.after(async () => {
    await endTree(nodeTree(home), 0);
    rmSync(home, { recursive: true, force: true });
  });
  const env = { HOME: home, PATH: process.env["PATH"], OUTRIGGER_NOTICES: "none" };
  spawn("unshare", [...unwatched, "sh", process.execPath, mainOf("agent")], {
    env,
    stdio: "ignore",
  });
  const agent = agentClient(t, join(home, ".outrigger/agent/agent.sock"));
  await until(() => agent.call("health", {}).catch(() => undefined));
  await agent.call("configure", aNode({ addresses: ["127.0.0.1", "127.0.0.2"] }));

  const run = "echo begun; until [ -e ~/go ]; do sleep 0.05; done; echo done";
  const alone = await agent.call("submit", aSubmission(`${run}`));
  const { body } = await agent.open("readLog", { id: alone.id, follow: "true" });
  const followed = text(body);
  const both = await agent.call(
    "submit",
    aSubmission("echo of the head; touch ~/go", { nodes: 2 }),
  );
  const worker = { id: both.id, rank: 1, reason: null };
  await agent.call("reportPart", { ...worker, status: "READY", exitCode: null });
  await agent.call("reportPart", { ...worker, status: "ENDED", exitCode: 0 });

  assert.equal(await followed, "begun\ndone\n");
  await until(async () => (await agent.call("getJob", both)).endedAt ?? undefined);
  const merged = await text((await agent.open("readLog", { id: both.id })).body);
  assert.equal(merged, "(head, rank=0) of the head\n");
});
