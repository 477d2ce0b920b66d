import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { endTree } from "../../../common/end-processes.ts";
import { readBootId } from "../../../common/process-tree.ts";
import { nodeTree, startAgent, type TestAgent } from "../../helpers/agent.ts";
import { aHook, begin, findFile, outcomes, putHooks, untilFile, untilStatus } from "./steps.ts";

/** The journal is flushed to the disk, links are not: those of the last seconds are gone. */
async function losePower(agent: TestAgent, id: string): Promise<void> {
  await endTree(nodeTree(agent.home), 0);
  const folder = join(agent.home, ".outrigger/agent");
  using journal = new DatabaseSync(join(folder, "journal.db"));
  journal.exec(`UPDATE lifecycles SET state = replace(state, '${readBootId()}', 'another')`);
  rmSync(join(folder, "lifecycles", id, "0/hook.claim"));
}

test("a hook that had begun when the machine lost its power does not begin again", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook("echo began >> ~/began; sleep 987"), aHook("echo next")]);
  const begun = await begin(agent, "stop");
  await untilFile(agent, "began", "began\n");
  await losePower(agent, begun.id);
  await agent.start();

  assert.deepEqual(outcomes(await untilStatus(agent, begun, "READY")), [
    "0 stop INTERRUPTED null",
    "1 stop SUCCEEDED 0",
  ]);
  assert.equal(findFile(agent, "began"), "began\n");
});
