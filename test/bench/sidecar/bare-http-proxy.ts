import { Agent, createServer } from "node:http";
import httpProxy from "http-proxy";

/** What people write themselves: the key compared, then `http-proxy` with kept connections. */
const [port = "", upstreamPort = "", key = ""] = process.argv.slice(2);
const proxy = httpProxy.createProxyServer({
  target: { host: "127.0.0.1", port: upstreamPort },
  agent: new Agent({ keepAlive: true }),
  xfwd: true,
});
const refusal = JSON.stringify({ error: "Unauthorized" });

createServer((req, res) => {
  if (req.headers.authorization === `Bearer ${key}`)
    return void proxy.web(req, res, {}, () => res.destroy());
  const headers = { "content-type": "application/json", "www-authenticate": "Bearer" };
  res.writeHead(401, { ...headers, "content-length": refusal.length }).end(refusal);
}).listen({ host: "127.0.0.1", port: Number(port), backlog: 4_096 });
