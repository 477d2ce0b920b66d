import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { findProgram } from "../../../common/mounts.ts";
import { startAgent, text, until } from "../../helpers/agent.ts";
import { importWords, makeRoot, whyNoEngine } from "../../helpers/engines.ts";
import { nobody } from "../../helpers/nobody.ts";

const path = "/usr/sbin:/usr/bin:/sbin:/bin";
const rootlessDaemon = "/usr/share/docker.io/contrib/dockerd-rootless.sh";
const skipOf = (name: "docker" | "podman") =>
  whyNoEngine(name) ||
  (findProgram(path, "newuidmap") === undefined && "needs the Debian package uidmap") ||
  (name === "docker" &&
    ["rootlesskit", "slirp4netns"].some((one) => findProgram(path, one) === undefined) &&
    "needs the Debian packages rootlesskit and slirp4netns");

/** Becomes nobody, with a home, ids of its own for containers, and what systemd gives others on other machines. */
const become = `
mkdir -p /dev/mqueue
mount -t mqueue mqueue /dev/mqueue
[ -e "$1/tun" ] || mknod -m 666 "$1/tun" c 10 200
mount --bind "$1/tun" /dev/net/tun
echo nobody:100000:65536 | tee "$1/subuid" > "$1/subgid"
sed "s,/nonexistent,$HOME," /etc/passwd > "$1/passwd"
for file in subuid subgid passwd; do mount --bind "$1/$file" /etc/$file; done
mount --make-rshared /
shift
exec setpriv --reuid=${nobody} --regid=${nobody} --clear-groups "$@"`;

for (const name of ["docker", "podman"] as const)
  test(`a job runs in a rootless ${name}: root inside, and the user outside`, {
    skip: skipOf(name),
    timeout: 180_000,
  }, async (t) => {
    const hadQueues = existsSync("/dev/mqueue");
    const home = mkdtempSync(join(tmpdir(), "node-"));
    let isAgents = false;
    let daemon: ChildProcess | undefined;
    t.after(async () => {
      const left = await engine("ps", "-aq").catch(() => "");
      if (left !== "") await engine("rm", "-f", ...left.split("\n")).catch(() => {});
      if (daemon?.kill()) await once(daemon, "exit");
      rmSync(join(home, ".outrigger/agent/remove-container"), { force: true });
      if (!isAgents) rmSync(home, { recursive: true });
      if (!hadQueues && existsSync("/dev/mqueue")) rmdirSync("/dev/mqueue");
    });
    const folder = join(home, "etc");
    const runtime = join(home, "run");
    for (const one of [folder, runtime]) mkdirSync(one);
    const settings = `[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n`;
    writeFileSync(join(home, "containers.conf"), settings);
    const env = {
      ...{ HOME: home, PATH: path, XDG_RUNTIME_DIR: runtime },
      CONTAINERS_CONF: join(home, "containers.conf"),
      ...(name === "podman" && { DOCKER_HOST: "unix:///nowhere" }),
    };
    const through = ["unshare", "--mount", "sh", "-c", become, "sh", folder];
    const socket = join(runtime, "docker.sock");
    const engine = async (...words: string[]) => {
      const args = [...through.slice(1), name, ...words];
      const calling = { env: { DOCKER_HOST: `unix://${socket}`, ...env }, timeout: 60_000 };
      return (await promisify(execFile)(through[0] ?? "", args, calling)).stdout.trim();
    };
    for (const one of [home, runtime]) chownSync(one, nobody, nobody);
    if (name === "docker") {
      const flags = ["--bridge=none", "--iptables=false", "--ip-masq=false"];
      const args = [...through.slice(1), rootlessDaemon, ...flags];
      daemon = spawn(through[0] ?? "", args, { env, stdio: "ignore" });
      await until(() => existsSync(socket) || undefined);
    }
    await engine(...importWords(makeRoot(home)));

    // It removes its home.
    isAgents = true;
    const agent = await startAgent(t, { home, env, through });
    const order = { clusterId: "c0ffee", image: "lab/busy:1", login: null };
    const done = new RegExp(`"done".* was started by ${name}`);
    assert.match(await text((await agent.open("putContainer", order)).body), done);

    const { id } = await agent.submit("id -u; tool; touch ~/made; exit 7");
    const job = await agent.untilJob(id);
    assert.deepEqual([job.status, job.exitCode], ["FAILED", 7]);
    assert.equal(await agent.log(id), "0\nthe tool of the image\n");
    assert.equal(statSync(join(home, "made")).uid, nobody);

    const sleeper = await agent.submit("setsid sleep 1000 & echo begun; sleep 1000");
    await until(async () => (await agent.log(sleeper.id)).includes("begun") || undefined);
    await agent.call("cancelJob", { id: sleeper.id, graceMs: 0 });
    assert.equal((await agent.untilJob(sleeper.id)).status, "CANCELLED");
  });
