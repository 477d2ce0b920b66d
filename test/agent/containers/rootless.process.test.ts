import assert from "node:assert/strict";
import { execFile } from "node:child_process";
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
import { messageOf } from "../../../common/errors.ts";
import { findProgram } from "../../../common/mounts.ts";
import { startAgent, text, until } from "../../helpers/agent.ts";
import { importWords, makeRoot, whyNoEngine } from "../../helpers/engines.ts";
import { nobody } from "../../helpers/nobody.ts";

const path = "/usr/sbin:/usr/bin:/sbin:/bin";
const skip =
  whyNoEngine("podman") ||
  (findProgram(path, "newuidmap") === undefined && "needs the Debian package uidmap");

/** Becomes nobody, with a home, ids of its own for containers, and the queues that systemd mounts on other machines. */
const become = `
mkdir -p /dev/mqueue
mount -t mqueue mqueue /dev/mqueue
echo nobody:100000:65536 | tee "$1/subuid" > "$1/subgid"
sed "s,/nonexistent,$HOME," /etc/passwd > "$1/passwd"
for file in subuid subgid passwd; do mount --bind "$1/$file" /etc/$file; done
mount --make-rshared /
shift
exec setpriv --reuid=${nobody} --regid=${nobody} --clear-groups "$@"`;

test("a job runs in a rootless podman: root inside, and the user outside", {
  skip,
  timeout: 180_000,
}, async (t) => {
  const hadQueues = existsSync("/dev/mqueue");
  const home = mkdtempSync(join(tmpdir(), "node-"));
  let isAgents = false;
  t.after(async () => {
    await podman("rm", "-af", "-t", "0").catch((error) => t.diagnostic(messageOf(error)));
    rmSync(join(home, ".outrigger/agent/remove-container"), { force: true });
    if (!isAgents) rmSync(home, { recursive: true });
    if (!hadQueues && existsSync("/dev/mqueue")) rmdirSync("/dev/mqueue");
  });
  const folder = join(home, "etc");
  mkdirSync(folder);
  const settings = `[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n`;
  writeFileSync(join(home, "containers.conf"), settings);
  const env = {
    ...{ HOME: home, PATH: path, XDG_RUNTIME_DIR: join(home, "run") },
    ...{ CONTAINERS_CONF: join(home, "containers.conf"), DOCKER_HOST: "unix:///nowhere" },
  };
  const through = ["unshare", "--mount", "sh", "-c", become, "sh", folder];
  const podman = (...words: string[]) => {
    const args = [...through.slice(1), "podman", ...words];
    return promisify(execFile)(through[0] ?? "", args, { env, timeout: 60_000 });
  };
  chownSync(home, nobody, nobody);
  await podman(...importWords(makeRoot(home)));

  // It removes its home.
  isAgents = true;
  const agent = await startAgent(t, { home, env, through });
  const order = { clusterId: "c0ffee", image: "lab/busy:1", login: null };
  assert.match(await text((await agent.open("putContainer", order)).body), /"done"/);

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
