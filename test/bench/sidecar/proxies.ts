import type { ChildProcess } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { programArgs } from "../../../common/programs.ts";
import { startBalancer, startRoundRobin } from "../balancer/proxies.ts";
import type { Lab } from "../lab.ts";
import { isInstalled, pin } from "./machine.ts";
import { freePort, untilAnswering } from "./ports.ts";

export const key = "bench-key-0123456789abcdef";

/** What is measured side by side. `nginx` passes bytes on as they come; the other one buffers. */
export type ProxyName =
  | "sidecar"
  | "nginx"
  | "nginx buffering"
  | "haproxy"
  | "http-proxy"
  | "balancer"
  | "nginx round robin";

export interface StartedProxy {
  readonly name: ProxyName;
  readonly pid: number;
  readonly port: number;
}

export interface Ports {
  readonly own: number;
  readonly upstream: number;
}

/**
 * How each is started: in the foreground, one worker, no access log, each checking the key but for
 * those that only choose an upstream.
 */
const starts: Record<ProxyName, (lab: Lab, ports: Ports) => ChildProcess | Promise<ChildProcess>> =
  {
    sidecar: (lab, ports) => startSidecar(lab, ports),
    nginx: (lab, ports) => startNginx(lab, ports, "off"),
    "nginx buffering": (lab, ports) => startNginx(lab, ports, "on"),
    haproxy: startHaproxy,
    "http-proxy": (lab, { own, upstream }) =>
      lab.start(join(import.meta.dirname, "bare-http-proxy.ts"), [`${own}`, `${upstream}`, key], {
        NODE_NO_WARNINGS: "1",
      }),
    balancer: startBalancer,
    "nginx round robin": startRoundRobin,
  };

/** What comes from elsewhere. */
const programs: Partial<Record<ProxyName, string>> = {
  nginx: "/usr/sbin/nginx",
  "nginx buffering": "/usr/sbin/nginx",
  haproxy: "/usr/sbin/haproxy",
  "nginx round robin": "/usr/sbin/nginx",
};

/** Starts those of them that are installed, on a core of their own; says which are not. */
export async function startProxies(
  lab: Lab,
  names: readonly ProxyName[],
  upstream: number,
): Promise<StartedProxy[]> {
  const proxies: StartedProxy[] = [];
  for (const name of names) {
    const program = programs[name];
    if (program !== undefined && !isInstalled(program)) continue;
    proxies.push(await startProxy(lab, name, upstream));
  }
  return proxies;
}

/** Starts one of them and waits until it answers. */
export async function startProxy(
  lab: Lab,
  name: ProxyName,
  upstream: number,
): Promise<StartedProxy> {
  const own = await freePort();
  const child = await starts[name](lab, { own, upstream });
  child.stdout?.resume();
  child.stderr?.pipe(process.stderr, { end: false });
  const pid = child.pid ?? 0;
  pin(pid, "measured");
  await untilAnswering(own, lab.signal);
  return { name, pid, port: own };
}

/** Starts the sidecar as it is shipped. */
export function startSidecar(
  lab: Lab,
  { own, upstream }: Ports,
  more: Record<string, string> = {},
): ChildProcess {
  const settings = {
    LISTEN: `127.0.0.1:${own}`,
    UPSTREAM: `127.0.0.1:${upstream}`,
    KEY_ENV: "BENCH_KEY",
    CONNECTIONS: "20000",
    ACCESS_LOG: "off",
    LOG_LEVEL: "warn",
  };
  const env = Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [`OUTRIGGER_SIDECAR_${name}`, value]),
  );
  const words = programArgs("sidecar").with(-1, lab.bundle("sidecar"));
  return lab.program(process.execPath, words, { ...env, ...more, BENCH_KEY: key });
}

function startNginx(lab: Lab, ports: Ports, buffering: "on" | "off"): ChildProcess {
  const folder = lab.folder();
  const file = join(folder, "nginx.conf");
  writeFileSync(file, nginxConfig(folder, ports, buffering));
  return lab.program("/usr/sbin/nginx", ["-p", folder, "-c", file, "-e", "stderr"]);
}

const nginxConfig = (folder: string, { own, upstream }: Ports, buffering: "on" | "off") => `
daemon off; master_process off; worker_processes 1;
pid ${folder}/pid; error_log stderr crit;
events { worker_connections 32768; }
http {
  access_log off; default_type application/json; keepalive_requests 1000000000;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((of) => `${of}_temp_path ${folder}/${of};`).join(" ")}
  map $http_authorization $is_allowed { default 0; "Bearer ${key}" 1; }
  upstream model { server 127.0.0.1:${upstream}; keepalive 1024; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${own} backlog=4096;
    client_max_body_size 0;
    location / {
      if ($is_allowed = 0) {
        add_header WWW-Authenticate Bearer always;
        return 401 '{"error":"Unauthorized"}';
      }
      proxy_pass http://model; proxy_http_version 1.1; proxy_read_timeout 600s;
      proxy_buffering ${buffering}; proxy_request_buffering ${buffering};
      proxy_set_header Connection ""; proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto http;
      proxy_set_header X-Forwarded-Host $http_host;
    }
  }
}
`;

function startHaproxy(lab: Lab, ports: Ports): ChildProcess {
  const file = join(lab.folder(), "haproxy.cfg");
  writeFileSync(file, haproxyConfig(ports));
  return lab.program("/usr/sbin/haproxy", ["-db", "-f", file]);
}

const haproxyConfig = ({ own, upstream }: Ports) => `
global
  nbthread 1
  maxconn 9900
defaults
  mode http
  option http-no-delay
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  timeout http-request 10s
frontend clients
  bind 127.0.0.1:${own} backlog 4096
  acl allowed req.hdr(authorization) -m str "Bearer ${key}"
  http-request return status 401 content-type application/json string '{"error":"Unauthorized"}' hdr WWW-Authenticate Bearer unless allowed
  default_backend model
backend model
  http-reuse always
  option forwardfor
  http-request set-header X-Forwarded-Proto http
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  server model 127.0.0.1:${upstream}
`;
