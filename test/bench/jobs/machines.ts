import { join } from "node:path";
import { type FakeAgent, startFakeAgent } from "../../helpers/fake-agent.ts";
import { aFakeNode } from "../../helpers/fake-node.ts";

/**
 * Machines that do nothing, in a process of their own: each job that is submitted to one ends at once, or never. An
 * order is `create ID` or `destroy ID`, and is sent back once it is done.
 */

const [folder = "", end = ""] = process.argv.slice(2);
const agents = new Map<string, FakeAgent>();

process.on("message", async (order: string) => {
  const [verb, id = ""] = order.split(" ");
  if (verb === "create") agents.set(id, await startAgent(id));
  else await agents.get(id)?.close();
  if (verb === "destroy") agents.delete(id);
  process.send?.(order);
});
process.on("disconnect", () => process.exit());

async function startAgent(id: string): Promise<FakeAgent> {
  const agent = await startFakeAgent(aFakeNode(id, join(folder, `${id}.sock`)));
  agent.node.onCall = (name) => {
    if (name === "submit" && end === "at once") setImmediate(() => agent.end(1, "SUCCEEDED"));
  };
  return agent;
}
