import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { createConnection } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { until } from "./agent.ts";
import { writeCertificate } from "./certificates.ts";
import { claimPorts } from "./ports.ts";

/** A real repository, served over HTTPS by `git http-backend`, and over SSH by a server of the machine. */
export interface GitServer {
  readonly url: string;
  /** Another host, which leads there. */
  readonly movedUrl: string;
  /** What vouches for its certificate. */
  readonly certificate: string;
  /** Which login `http` asks for; none for everybody. */
  login: { username: string; password: string } | undefined;
  /** Requests over HTTPS so far. */
  asked: number;
  /** Runs git in a working copy of the repository; what it printed. */
  git(...args: string[]): string;
  /** Commits a file and pushes all branches and tags; the commit. */
  commit(name: string, text: string): string;
  /** Serves it over SSH too: its address, and the key that is let in. */
  startSsh(): Promise<{ url: string; key: string }>;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

const sshd = "/usr/sbin/sshd";

/** Why a test can have no such server; false where it can. */
export const whyNoGitServer: string | false = existsSync("/usr/lib/git-core/git-http-backend")
  ? existsSync(sshd)
    ? false
    : "there is no sshd"
  : "there is no git http-backend";

/** Starts a server that ends with the test. */
export async function startGitServer(t: Cleaner): Promise<GitServer> {
  const root = mkdtempSync(join(tmpdir(), "git-"));
  t.after(async () => rmSync(root, { recursive: true, force: true }));
  const work = join(root, "work");
  const bare = join(root, "served/project.git");
  const person = ["-c", "user.name=Ana", "-c", "user.email=ana@lab.org"];
  const git = (...args: string[]) =>
    execFileSync("git", [...person, ...args], {
      cwd: work,
      encoding: "utf8",
      stdio: "pipe",
    }).trim();
  mkdirSync(work);
  execFileSync("git", ["init", "-q", "--bare", "-b", "main", bare]);
  git("init", "-q", "-b", "main");
  git("remote", "add", "origin", bare);
  const { tlsCertFile, tlsKeyFile } = writeCertificate(root, "localhost");
  const tls = { cert: readFileSync(tlsCertFile), key: readFileSync(tlsKeyFile) };
  const https = createServer(tls, (req, res) => {
    server.asked += 1;
    const { login } = server;
    const basic = login && `Basic ${btoa(`${login.username}:${login.password}`)}`;
    if (basic !== undefined && req.headers.authorization !== basic)
      res.writeHead(401, { "www-authenticate": "Basic" }).end();
    else runBackend(join(root, "served"), req, res);
  });
  const origin = await listen(t, https);
  const moved = createServer(tls, (req, res) => {
    res.writeHead(302, { location: `${origin}${req.url}` }).end();
  });
  const server: GitServer = {
    url: `${origin}/project.git`,
    movedUrl: `${await listen(t, moved)}/project.git`,
    certificate: tlsCertFile,
    login: undefined,
    asked: 0,
    git,
    commit(name, text) {
      writeFileSync(join(work, name), text);
      git("add", "-A");
      git("commit", "-q", "-m", `change ${name}`);
      git("push", "-q", "--force", "origin", "--all");
      git("push", "-q", "--force", "origin", "--tags");
      return git("rev-parse", "HEAD");
    },
    startSsh: () => startSsh(t, root, bare),
  };
  return server;
}

async function listen(t: Cleaner, server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `https://localhost:${(server.address() as AddressInfo).port}`;
}

/** Has git answer a request as a program behind a web server does. */
function runBackend(folder: string, req: IncomingMessage, res: ServerResponse): void {
  const { pathname, search } = new URL(req.url ?? "/", "https://x");
  const backend = spawn("git", ["http-backend"], {
    env: {
      ...{ PATH: process.env["PATH"], GIT_PROJECT_ROOT: folder, GIT_HTTP_EXPORT_ALL: "1" },
      ...{ PATH_INFO: pathname, QUERY_STRING: search.slice(1), REQUEST_METHOD: req.method },
      CONTENT_TYPE: req.headers["content-type"],
      GIT_PROTOCOL: String(req.headers["git-protocol"] ?? ""),
      HTTP_CONTENT_ENCODING: String(req.headers["content-encoding"] ?? ""),
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  req.pipe(backend.stdin).on("error", () => {});
  const chunks: Buffer[] = [];
  backend.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  backend.on("close", () => {
    const answer = Buffer.concat(chunks);
    const end = answer.indexOf("\r\n\r\n");
    const lines = answer.subarray(0, end).toString().split("\r\n");
    const headers = lines.map((line) => line.split(": ", 2) as [string, string]);
    const status = headers.find(([name]) => name === "Status")?.[1] ?? "200";
    for (const [name, value] of headers) if (name !== "Status") res.setHeader(name, value);
    res.writeHead(Number.parseInt(status, 10)).end(answer.subarray(end + 4));
  });
}

async function startSsh(t: Cleaner, root: string, bare: string) {
  const at = (name: string) => join(root, name);
  for (const name of ["host", "user"])
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", at(name)]);
  const { document: port } = await claimPorts(t);
  writeFileSync(
    at("sshd_config"),
    [
      ...[`Port ${port}`, "ListenAddress 127.0.0.1", `HostKey ${at("host")}`, "PidFile none"],
      ...[`AuthorizedKeysFile ${at("user.pub")}`, "StrictModes no", "UsePAM no"],
      ...["PasswordAuthentication no", "PermitRootLogin prohibit-password"],
    ].join("\n"),
  );
  if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true });
  const server = spawn(sshd, ["-D", "-f", at("sshd_config")], { stdio: "ignore" });
  t.after(async () => {
    const end = once(server, "exit");
    server.kill();
    await end;
  });
  await until(async () => {
    const socket = createConnection(port, "127.0.0.1");
    const isOpen = await once(socket, "connect").then(
      () => true,
      () => undefined,
    );
    socket.destroy();
    return isOpen;
  });
  const url = `ssh://${userInfo().username}@127.0.0.1:${port}${bare}`;
  return { url, key: readFileSync(at("user"), "utf8") };
}
