import { once } from "node:events";
import { chmodSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { json } from "node:stream/consumers";

/** What an agent says of itself that has nothing to do: its rows that control asks for. */
const [homes = "", build = "", ...users] = process.argv.slice(2);
const heartbeatMs = 5_000;

for (const user of users) {
  const socket = `${homes}/${user}/.outrigger/agent/agent.sock`;
  const server = createServer(anIdleAgent()).listen(socket);
  await once(server, "listening");
  chmodSync(socket, 0o777);
}
process.send?.("ready");

function anIdleAgent(): RequestListener {
  let node: unknown = null;
  const health = () => ({
    ...{ version: "0", build, pid: 1, bootId: "boot", startedAt: 0, node },
    ...{ hooksVersion: null, lifecycle: null, lastSeq: 0 },
  });
  const answers: Record<string, (req: IncomingMessage) => unknown> = {
    "GET /health": health,
    "PUT /node": async (req) => {
      node = await json(req);
      return health();
    },
    "GET /jobs": () => [],
    "GET /lifecycles": () => [],
  };
  return async (req, res) => {
    const path = req.url?.split("?")[0];
    if (path === "/events") {
      res.writeHead(200, { "content-type": "application/x-ndjson" }).flushHeaders();
      const beat = setInterval(() => res.write("\n"), heartbeatMs);
      return void res.once("close", () => clearInterval(beat));
    }
    const answer = await answers[`${req.method} ${path}`]?.(req);
    res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer ?? {}));
  };
}
