import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { findEngine } from "../../common/containers.ts";
import { findProgram } from "../../common/mounts.ts";
import { until } from "./agent.ts";
import { unmountAll } from "./fuse.ts";

/** A docker daemon, or a podman, that nobody else uses. */
export interface TestEngine {
  /** How programs come to use it. */
  readonly env: Readonly<Record<string, string>>;
  /** An image with busybox and bash. */
  readonly image: string;
  /** Runs it with these words; what it printed, trimmed. */
  run(...words: readonly string[]): Promise<string>;
  /** Pushes an image with the login in a file. */
  push(image: string, loginFile: string): Promise<string>;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/** The image of these tests, which has a PATH of its own. */
const image = "lab/busy:1";
export const importWords = (archive: string): string[] => [
  ...["import", "-c", "ENV PATH=/opt/tool/bin:/usr/bin:/bin", archive, image],
];

const path = process.env["PATH"] ?? "";
const needed = {
  docker: ["docker", "dockerd", "runc"],
  podman: ["podman", "runc", "crun"],
} as const;

type Name = keyof typeof needed;

/** Why a test cannot have one of its own; false where it can. */
export function whyNoEngine(name: Name): string | false {
  if (process.getuid?.() !== 0) return "needs root";
  const missing = [...needed[name], "busybox"].find((one) => findProgram(path, one) === undefined);
  return missing === undefined
    ? false
    : `needs ${missing} (docker.io, podman, runc, crun, busybox-static)`;
}

/** Starts one of its own; it and all of its containers are gone with the test. */
export async function startEngine(t: Cleaner, name: Name): Promise<TestEngine> {
  const folder = mkdtempSync(join(tmpdir(), "engine-"));
  const { env, end } = await { docker: startDaemon, podman: settingsOfPodman }[name](folder);
  const engine = findEngine(env, path);
  if (engine?.name !== name) throw new Error(`${engine?.name} was found and not ${name}`);
  const run = async (...words: readonly string[]) =>
    (await promisify(execFile)(engine.file, words, { env: engine.env })).stdout.trim();
  t.after(async () => {
    const left = (await run("ps", "-aq")).split("\n").filter(Boolean);
    if (left.length > 0) await run("rm", "-f", ...left);
    await end();
    await unmountAll(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  await run(...importWords(makeRoot(folder)));
  return { env, image, run, push: (what, file) => run(...pushWords(name, what, file)) };
}

interface Started extends Pick<TestEngine, "env"> {
  end(): Promise<unknown>;
}

function pushWords(name: Name, image: string, file: string): string[] {
  if (name === "podman") return ["push", "--authfile", file, image];
  const folder = dirname(file);
  cpSync(file, join(folder, "config.json"));
  return ["--config", folder, "push", image];
}

/** Without a bridge it changes no rule of the machine's firewall. */
async function startDaemon(folder: string): Promise<Started> {
  const socket = join(folder, "docker.sock");
  const places = { "data-root": "root", "exec-root": "exec", pidfile: "pid" };
  const flags = Object.entries(places).map(([flag, place]) => `--${flag}=${join(folder, place)}`);
  flags.push("--bridge=none", "--iptables=false", "--ip-masq=false", `--host=unix://${socket}`);
  const daemon = spawn("dockerd", flags, { stdio: "ignore" });
  const end = async () => {
    daemon.kill();
    if (daemon.exitCode === null) await once(daemon, "exit");
  };
  await until(() => existsSync(socket) || undefined);
  return { env: { DOCKER_HOST: `unix://${socket}` }, end };
}

async function settingsOfPodman(folder: string): Promise<Started> {
  const files = {
    CONTAINERS_CONF: `[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
`,
    CONTAINERS_STORAGE_CONF: `[storage]
driver = "overlay"
graphroot = "${folder}/graph"
runroot = "${folder}/run"
`,
    CONTAINERS_REGISTRIES_CONF: `[[registry]]
prefix = "127.0.0.1"
location = "127.0.0.1"
insecure = true
`,
  };
  const env: Record<string, string> = { DOCKER_HOST: "unix:///nowhere/docker.sock" };
  for (const [name, text] of Object.entries(files)) {
    env[name] = join(folder, name);
    writeFileSync(env[name], text);
  }
  return { env, end: async () => {} };
}

/** Gives a machine of `startSshHost` control groups, which it has none of before. */
export const mountGroups = `
if [ -e /proc/self/cgroup ] && grep -q ^1: /proc/self/cgroup; then
  mount -t tmpfs cgroup /sys/fs/cgroup
  for name in cpu cpuacct memory devices freezer pids blkio cpuset; do
    mkdir /sys/fs/cgroup/$name
    mount -t cgroup -o $name cgroup /sys/fs/cgroup/$name
  done
else
  mount -t cgroup2 cgroup /sys/fs/cgroup
fi`;

/** The archive of a root that has nothing but a busybox without libraries, as an image of Alpine has no glibc and no bash. */
export function makeStaticRoot(folder: string): string {
  makeRoot(folder);
  const archive = join(folder, "static.tar");
  const words = ["./bin", "./etc", "./tmp", "./proc", "./sys", "./dev", "./root"];
  const taken = ["-C", join(folder, "rootfs"), "--exclude=bash", "--exclude=.bashrc"];
  execFileSync("tar", [...taken, "-cf", archive, ...words]);
  return archive;
}

/** The archive of a root of 4 MB that has busybox, bash and what its user's shells read, and more programs by their paths. */
export function makeRoot(folder: string, programs: Readonly<Record<string, string>> = {}): string {
  const root = join(folder, "rootfs");
  const folders = ["bin", "etc", "tmp", "proc", "sys", "dev", "root", "opt/tool/bin", "usr/bin"];
  for (const one of folders) mkdirSync(join(root, one), { recursive: true });
  const take = (file: string, as = file) => {
    mkdirSync(dirname(join(root, as)), { recursive: true });
    cpSync(realpathSync(file), join(root, as));
  };
  const busybox = findProgram(path, "busybox") ?? "";
  const applets = execFileSync(busybox, ["--list"], { encoding: "utf8" }).trim().split("\n");
  for (const applet of applets)
    if (!["busybox", "bash"].includes(applet)) symlinkSync("busybox", join(root, "bin", applet));
  take(busybox, "/bin/busybox");
  for (const [as, file] of Object.entries({ "/bin/bash": "/bin/bash", ...programs })) {
    take(file, as);
    const libraries = execFileSync("ldd", [file], { encoding: "utf8" }).match(/\/\S+/g) ?? [];
    for (const library of libraries) take(library);
  }
  const texts = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/bash\n",
    "etc/profile": "export PATH=/usr/bin:/bin\n",
    "root/.bashrc": "export FROM_BASHRC=yes\n",
    "opt/tool/bin/tool": "#!/bin/sh\necho the tool of the image\n",
  };
  for (const [file, text] of Object.entries(texts)) writeFileSync(join(root, file), text);
  chmodSync(join(root, "opt/tool/bin/tool"), 0o755);
  chmodSync(join(root, "tmp"), 0o1777);
  const archive = join(folder, "root.tar");
  execFileSync("tar", ["-C", root, "-cf", archive, "."]);
  return archive;
}
