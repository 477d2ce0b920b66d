import { execFile } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { systemUser } from "../../common/system-user.ts";
import { usualPort } from "../doors/ssh/target.ts";

/** What the SSH configuration of control's user says of a host. */
export interface SshConfig {
  readonly hostname: string;
  readonly user: string;
  readonly port: number;
  readonly identityFiles: readonly string[];
  readonly proxyJump: string | null;
}

const askMs = 3_000;

/** Asks the SSH client of this machine, which knows all forms of its files; without one, the usual. */
export async function sshConfigOf(host: string): Promise<SshConfig> {
  const asked = promisify(execFile)("ssh", ["-G", "--", host], { timeout: askMs });
  const { stdout } = await asked.catch(() => ({ stdout: "" }));
  return readSshConfig(host, stdout);
}

/** What `ssh -G` printed. Source: ssh_config(5). */
export function readSshConfig(host: string, text: string): SshConfig {
  const lines = text.split("\n").map((line) => line.split(/\s+(.*)/s));
  const all = (name: string) => lines.flatMap(([word, value]) => (word === name ? [value] : []));
  const one = (name: string) => all(name)[0];
  const files = all("identityfile").filter((file) => file !== undefined);
  const jump = one("proxyjump");
  return {
    hostname: one("hostname") ?? host,
    user: one("user") ?? systemUser().name,
    port: Number(one("port") ?? usualPort),
    identityFiles: files.length > 0 ? files : usualFiles,
    proxyJump: jump === undefined || jump === "none" ? null : jump,
  };
}

const usualFiles = ["id_ed25519", "id_ecdsa", "id_rsa"].map((name) => join("~/.ssh", name));

/** A path that may begin with the home folder. */
export const atHome = (path: string): string =>
  path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
