import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findProgram } from "../../common/mounts.ts";
import { until } from "./agent.ts";

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/** Why there can be no registry here; false where there can. */
export const whyNoRegistry = (): string | false =>
  findProgram(process.env["PATH"] ?? "", "docker-registry") === undefined &&
  "needs the Debian package docker-registry";

/** Starts a private registry of images, usually on loopback; its address. */
export async function startRegistry(
  t: Cleaner,
  user: string,
  password: string,
  host = "127.0.0.1",
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "registry-"));
  const hash = execFileSync(
    "perl",
    ["-e", "print crypt(<STDIN>, q($2y$05$abcdefghijklmnopqrstuu))"],
    {
      input: password,
      encoding: "utf8",
    },
  );
  const server = createServer().listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  const address = `${host}:${port}`;
  writeFileSync(join(folder, "users"), `${user}:${hash}\n`);
  const config = {
    version: 0.1,
    storage: { filesystem: { rootdirectory: folder } },
    http: { addr: address, secret: "test" },
    auth: { htpasswd: { realm: "lab", path: join(folder, "users") } },
  };
  writeFileSync(join(folder, "config.yaml"), JSON.stringify(config));
  const registry = spawn("docker-registry", ["serve", join(folder, "config.yaml")], {
    stdio: "ignore",
  });
  t.after(async () => {
    registry.kill();
    if (registry.exitCode === null) await once(registry, "exit");
    rmSync(folder, { recursive: true, force: true });
  });
  await until(async () => (await fetch(`http://${address}/v2/`).catch(() => undefined)) && true);
  return address;
}
