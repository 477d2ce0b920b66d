import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { shellWord } from "../../common/shell-word.ts";
import type { SshHost } from "./ssh-hosts.ts";

/** A real Slurm of two nodes, `n1` and `n2`, with the partitions `low` and `high`. */
export interface SlurmLab {
  /** What its commands need to find it. */
  readonly conf: string;
  readonly folder: string;
  /** Runs one of its commands; what it wrote, trimmed. */
  run(command: string, ...args: string[]): Promise<string>;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

const execute = promisify(execFile);
const scripts = join(import.meta.dirname, "../fixtures/slurm");
const limitMs = 60_000;
/** Below the ports that the kernel hands out. */
const firstPort = 16_000;

/** Why there can be no Slurm here; false when there can. */
export function whyNoSlurm(): string | false {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "needs root on Linux";
  const programs = ["slurmctld", "slurmd", "munged"];
  if (programs.every((name) => existsSync(join("/usr/sbin", name)))) return false;
  return "needs the Debian packages slurmctld, slurmd, slurm-client, slurm-wlm-basic-plugins and munge";
}

/** As `whyNoSlurm`, with a database for its accounting. */
export function whyNoAccounting(): string | false {
  if (existsSync("/usr/sbin/slurmdbd") && existsSync("/usr/sbin/mariadbd")) return whyNoSlurm();
  return "needs the Debian packages slurmdbd, slurm-wlm-mysql-plugin and mariadb-server-core";
}

/**
 * Starts a Slurm on a machine of its own, which is its login node too; it is gone once the test is over. One that
 * limits jobs needs control groups there.
 */
export async function startSlurmBehind(
  host: SshHost,
  limits: "limits" | "" = "",
): Promise<SlurmLab> {
  const folder = "/srv/slurm";
  // What it has of Debian's programs are links there.
  const links = { recursive: true, verbatimSymlinks: true };
  cpSync("/etc/alternatives", join(host.disk, "etc/alternatives"), links);
  await host.run('echo "127.0.0.1 localhost $(hostname)" > /etc/hosts');
  await host.run(
    `set -- ${folder} ${firstPort} ${limits}\n${readFileSync(join(scripts, "up"), "utf8")}`,
  );
  const conf = join(folder, "slurm.conf");
  const run = (...words: string[]) =>
    host.run(`export SLURM_CONF=${conf}; ${words.map(shellWord).join(" ")}`);
  return { conf, folder, run };
}

/** Starts a Slurm; it is gone once the test is over. */
export async function startSlurm(
  t: Cleaner,
  { hasAccounting }: { hasAccounting?: true } = {},
): Promise<SlurmLab> {
  const folder = mkdtempSync(join(tmpdir(), "slurm-"));
  const conf = join(folder, "slurm.conf");
  const port = firstPort + (process.pid % 4_000) * 4;
  t.after(async () => void (await execute(join(scripts, "down"), [folder], { timeout: limitMs })));
  await execute(
    join(scripts, "up"),
    [folder, String(port), ...(hasAccounting ? ["accounting"] : [])],
    { timeout: limitMs },
  );
  return {
    ...{ conf, folder },
    async run(command, ...args) {
      const env = { ...process.env, SLURM_CONF: conf };
      return (await execute(command, args, { env, timeout: limitMs })).stdout.trim();
    },
  };
}
