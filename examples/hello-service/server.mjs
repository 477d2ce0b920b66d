// Stands for a model server: /health, / says who answers, /stream says it word by word.
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

// Each replica has a port of its own: what it must listen on is in $PORT.
const { OUTRIGGER_SERVE_REPLICA_ID: id, PORT: port } = process.env;

/** What stands at each path. */
const answers = {
  "/health": async (res) => res.end("ok\n"),
  "/": async (res) => res.end(`Hello from replica ${id}.\n`),
  "/stream": async (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    for (const word of `Hello, word by word, from replica ${id}.`.split(" ")) {
      res.write(`data: ${word}\n\n`);
      await sleep(200);
    }
    res.end();
  },
};

createServer((req, res) => {
  if (req.url !== "/health") console.log(req.method, req.url); // probes would fill the log
  const answer = answers[req.url] ?? (async () => res.writeHead(404).end("no such page\n"));
  void answer(res);
}).listen(Number(port), "127.0.0.1");
