import assert from "node:assert/strict";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { startAgent, until } from "../helpers/agent.ts";
import { argumentsOfAll, filesWith } from "./exposure.ts";

const agent = await startAgent({ after });
// Another run of this file must not be a hit: it looks at the arguments of all processes.
const end = `battery-${process.pid}`;
const value = `correct-horse-${end}`;

test("a secret reaches the script and lies nowhere in clear", async () => {
  const check = `[ "$TOKEN" = "correct-""horse-${end}" ] && echo has it`;
  const run = `${check}; touch ~/ready; until [ -e ~/go ]; do sleep 0.05; done`;
  const { id } = await agent.submit(run, { secrets: { TOKEN: value } });
  await until(() => existsSync(join(agent.home, "ready")) || undefined);
  const answers = [await agent.call("getJob", { id }), await agent.call("listJobs", {})];

  assert.equal(await agent.log(id), "has it\n");
  assert.equal(filesWith(agent.home, value), "");
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
