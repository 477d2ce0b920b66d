import type { ChildProcess } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "undici";
import { settingName } from "../../../common/config.ts";
import type { BalancerPlan } from "../../../contract/balancer-api.ts";
import type { Lab } from "../lab.ts";
import { startUpstream } from "../sidecar/companions.ts";
import type { Ports } from "../sidecar/proxies.ts";

/** As control starts it. */
const flags = ["--max-semi-space-size=1", "--no-maglev"];

/** Starts the balancer as it is shipped, before this upstream and one more. */
export async function startBalancer(lab: Lab, ports: Ports): Promise<ChildProcess> {
  const socket = join(lab.folder(), "balancer.sock");
  const settings = {
    socket,
    listen: `127.0.0.1:${ports.own}`,
    connections: "20000",
    accessLog: "off",
    logLevel: "warn",
  };
  const env = Object.entries(settings).map(([name, value]) => [settingName(name), value]);
  const words = [...flags, lab.bundle("balancer")];
  const child = lab.program(process.execPath, words, Object.fromEntries(env));
  await tell(lab, socket, planOf([ports.upstream, await startUpstream(lab)]));
  return child;
}

const planOf = (ports: readonly number[]): BalancerPlan => ({
  revision: 0,
  policy: "round_robin",
  probes: {
    1: {
      ...{ method: "GET", scheme: "http", path: "/answer/2/0", headers: {}, body: null },
      ...{ timeoutMs: 10_000, intervalMs: 10_000, successThreshold: 1, failureThreshold: 3 },
      expectedStatus: [[200, 200]],
    },
  },
  replicas: ports.map((port, index) => ({
    ...{ id: index + 1, version: 1, host: "127.0.0.1", port, role: "serving", capacity: 1 },
  })),
  tls: null,
  hold: { requests: 10, ms: 60_000 },
});

async function tell(lab: Lab, socketPath: string, plan: BalancerPlan): Promise<void> {
  const client = new Client("http://balancer", { connect: { socketPath } });
  const body = JSON.stringify(plan);
  try {
    for (;;) {
      const put = client.request({ method: "PUT", path: "/plan", body });
      const answer = await put.catch(() => undefined);
      await answer?.body.dump();
      if (answer?.statusCode === 200) return;
      await sleep(5, undefined, { signal: lab.signal });
    }
  } finally {
    await client.destroy();
  }
}

/** Starts nginx before this upstream and one more, passing bytes on as they come. */
export async function startRoundRobin(lab: Lab, ports: Ports): Promise<ChildProcess> {
  const folder = lab.folder();
  const file = join(folder, "nginx.conf");
  writeFileSync(file, nginxConfig(folder, ports, await startUpstream(lab)));
  return lab.program("/usr/sbin/nginx", ["-p", folder, "-c", file, "-e", "stderr"]);
}

const nginxConfig = (folder: string, { own, upstream }: Ports, other: number) => `
daemon off; master_process off; worker_processes 1;
pid ${folder}/pid; error_log stderr crit;
events { worker_connections 32768; }
http {
  access_log off; keepalive_requests 1000000000;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((of) => `${of}_temp_path ${folder}/${of};`).join(" ")}
  upstream replicas {
    server 127.0.0.1:${upstream}; server 127.0.0.1:${other};
    keepalive 1024; keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${own} backlog=4096;
    client_max_body_size 0;
    location / {
      proxy_pass http://replicas; proxy_http_version 1.1; proxy_read_timeout 600s;
      proxy_buffering off; proxy_request_buffering off;
      proxy_set_header Connection ""; proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto http;
      proxy_set_header X-Forwarded-Host $http_host;
    }
  }
}
`;
