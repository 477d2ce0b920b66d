import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasEnded, until } from "./agent.ts";

const program = "/usr/sbin/nginx";

/** Why there is no proxy here; false where there is one. */
export const whyNoNginx = (): string | false => !existsSync(program) && "nginx is not installed";

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/** A port that nothing listens on at the moment. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

/**
 * Starts nginx in front of a control plane, with a verifier that `auth_request` asks; its address. Its
 * configuration is the one that the documentation shows.
 */
export async function startAuthProxy(t: Cleaner, controlUrl: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "nginx-"));
  const [port, verifier] = [await freePort(), await freePort()];
  const values = {
    LISTEN: `127.0.0.1:${port}`,
    CONTROL: new URL(controlUrl).host,
    VERIFIER: `127.0.0.1:${verifier}`,
  };
  const site = siteIn(readFileSync(documented, "utf8"), values);
  const file = join(folder, "nginx.conf");
  writeFileSync(file, wholeOf(folder, site));
  const fixture = join(import.meta.dirname, "../fixtures/verifier.mjs");
  const secret = randomBytes(16).toString("hex");
  const judge = spawn(process.execPath, [fixture, String(verifier), secret], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(judge.stdout, "data");
  const nginx = spawn(program, ["-p", folder, "-c", file], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  t.after(async () => {
    await Promise.all([end(nginx), end(judge)]);
    rmSync(folder, { recursive: true, force: true });
  });
  const url = `http://${values.LISTEN}`;
  await until(async () => {
    if (hasEnded(nginx)) throw new Error("nginx did not start");
    return fetch(`${url}/api/health`).then(
      (answer) => answer.ok || undefined,
      () => undefined,
    );
  });
  return url;
}

const documented = join(import.meta.dirname, "../../docs/login.md");

/** The example of the documentation, with addresses of this machine. */
function siteIn(text: string, values: Readonly<Record<string, string>>): string {
  const [, example] = /```nginx\n([\s\S]*?)```/.exec(text) ?? [];
  if (example === undefined) throw new Error(`${documented} shows no configuration of nginx`);
  return Object.entries({
    "listen 443 ssl;": `listen ${values["LISTEN"]};`,
    "127.0.0.1:46580": values["CONTROL"] ?? "",
    "127.0.0.1:4180": values["VERIFIER"] ?? "",
  }).reduce(
    (site, [shown, here]) => {
      if (!site.includes(shown)) throw new Error(`${documented} does not show ${shown}`);
      return site.replaceAll(shown, here);
    },
    example.replace(/^ *(server_name|ssl_certificate).*\n/gm, ""),
  );
}

/** The kinds of temporary files, each of which wants a folder that we may write to. */
const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

const wholeOf = (folder: string, site: string): string => `
daemon off;
worker_processes 1;
pid ${folder}/pid;
error_log ${folder}/error.log;
events {}
http {
  access_log off;
  ${temporary.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join("\n  ")}
${site}
}
`;

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  await exit;
}
