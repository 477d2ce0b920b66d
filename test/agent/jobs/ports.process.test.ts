import assert from "node:assert/strict";
import { createServer, type Server } from "node:net";
import { after, test } from "node:test";
import { startAgent, until } from "../../helpers/agent.ts";

const agent = await startAgent({ after }, { cpus: 8 });
const node = process.execPath;
/** Serves on a port that it chooses, and says which. */
const anyPort = (host: string) =>
  `${node} -e 'const s = require("net").createServer(); s.listen(0, "${host}", () => console.log("on", s.address().port))'`;

/** The ports that the job says it listens on, once it said so often. */
const said = (id: number, count: number): Promise<number[]> =>
  until(async () => {
    const ports = (await agent.log(id)).matchAll(/^on (\d+)$/gm);
    const found = [...ports].map(([, port]) => Number(port));
    return found.length === count ? found : undefined;
  });

test("a job listens where its processes do, wherever they went, and nobody else does", async (t) => {
  const stranger = createServer();
  await listening(stranger);
  t.after(() => stranger.close());
  const run = `${anyPort("127.0.0.1")} & setsid -f ${anyPort("::1")}\n${anyPort("0.0.0.0")}`;
  const { id } = await agent.submit(run);
  const other = await agent.submit(anyPort("127.0.0.1"));
  const ports = await said(id, 3);
  const [others] = await said(other.id, 1);

  assert.deepEqual(
    await agent.call("listPorts", { id }),
    ports.toSorted((a, b) => a - b),
  );
  assert.deepEqual(await agent.call("listPorts", { id: other.id }), [others]);
  await agent.call("cancelJob", { id, graceMs: 60_000 });
  assert.deepEqual(await agent.call("listPorts", { id }), []);
});

test("who is only connected does not listen; of an unknown job there is nothing to say", async (t) => {
  const server = createServer();
  const port = await listening(server);
  t.after(() => server.close());
  const connects = `require("net").connect(${port}).on("connect", () => console.log("on 1"))`;
  const { id } = await agent.submit(`${node} -e '${connects}'`);
  await said(id, 1);

  assert.deepEqual(await agent.call("listPorts", { id }), []);
  await assert.rejects(agent.call("listPorts", { id: 9_999 }), { name: "JobNotFoundError" });
});

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}
