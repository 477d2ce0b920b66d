import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { startAgent, until } from "../helpers/agent.ts";

const agent = await startAgent({ after });
const value = "correct-horse-battery";

test("a secret reaches the script and lies nowhere in clear", async () => {
  const check = `[ "$TOKEN" = "correct-""horse-battery" ] && echo has it`;
  const run = `${check}; touch ~/ready; until [ -e ~/go ]; do sleep 0.01; done`;
  const { id } = await agent.submit(run, { secrets: { TOKEN: value } });
  await until(() => existsSync(join(agent.home, "ready")) || undefined);
  const answers = [await agent.call("getJob", { id }), await agent.call("listJobs", {})];

  assert.equal(await agent.log(id), "has it\n");
  assert.equal(filesWith(value), "");
  assert.equal(JSON.stringify(answers).includes(value), false);
  assert.equal(argumentsOfAll().includes(value), false);
  assert.equal((await agent.call("getPartSpec", { id })).secrets["TOKEN"], value);

  writeFileSync(join(agent.home, "go"), "");
  await agent.untilJob(id, "SUCCEEDED");
  await assert.rejects(agent.call("getPartSpec", { id }), { name: "JobNotFoundError" });
});

test("what the agent keeps is for its owner alone", () => {
  const folder = join(agent.home, ".outrigger/agent");
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

  assert.equal(modeOf(folder), "700");
  assert.equal(modeOf(join(folder, "key")), "600");
  assert.equal(modeOf(join(folder, "agent.sock")), "600");
});

/** The files of the node that hold the text. */
function filesWith(needle: string): string {
  try {
    return execFileSync("grep", ["-rla", needle, agent.home], { encoding: "utf8" });
  } catch {
    return "";
  }
}

function argumentsOfAll(): string {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids
    .filter((pid) => existsSync(`/proc/${pid}/cmdline`))
    .map((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8"))
    .join("\n");
}
