import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { stringify } from "yaml";
import { shellWord } from "../../common/shell-word.ts";
import { importWords, makeRoot, mountGroups, whyNoEngine } from "../helpers/engines.ts";
import { whyNoHosts } from "../helpers/ssh-hosts.ts";
import { openLab } from "./ssh-lab.ts";

const skip = whyNoHosts() || whyNoEngine("docker") || whyNoEngine("podman");

/** A daemon of root that the user of the pool may use. */
const prepareDocker = `${mountGroups}
mkdir -p /var/lib
ln -sfn /run /var/run
setsid dockerd --bridge=none --iptables=false --ip-masq=false --data-root=/opt/docker > /var/log/docker 2>&1 &
until docker version > /dev/null 2>&1; do sleep 0.1; done
chmod 666 /var/run/docker.sock`;

/** Ids for containers of the pool's user, and the queues that systemd mounts on other machines. */
const preparePodman = `${mountGroups}
mkdir -p /dev/mqueue /etc/containers
mount -t mqueue mqueue /dev/mqueue
mount --make-rshared /
echo ana:100000:65536 | tee /etc/subuid > /etc/subgid
echo '{"default": [{"type": "insecureAcceptAnything"}]}' > /etc/containers/policy.json
printf '[engine]\\nruntime = "runc"\\ncgroup_manager = "cgroupfs"\\nevents_logger = "none"\\n' > /etc/containers/containers.conf`;

const asAna = "setpriv --reuid=4001 --regid=4001 --clear-groups env HOME=/home/ana ";
/** For each program: the other one, what prepares it, how its user calls it, and who that is inside. */
const engines = {
  docker: { without: "podman", prepare: prepareDocker, call: "docker", inside: "4001\nana" },
  podman: {
    without: "docker",
    prepare: preparePodman,
    call: `cd /; ${asAna} podman`,
    inside: "0\nroot",
  },
} as const;

test("hosts with docker or podman run images as their user, and one without is left out", {
  skip,
  timeout: 300_000,
}, async (t) => {
  const hadQueues = existsSync("/dev/mqueue");
  t.after(() => {
    if (!hadQueues && existsSync("/dev/mqueue")) rmdirSync("/dev/mqueue");
  });
  const lab = await openLab(
    t,
    ["podman", ...Object.values(engines).map(({ without }) => without)].map((without) => ({
      node: true,
      without: [without],
    })),
  );
  const {
    control: { cli, home },
    hosts: [bare, ...others],
  } = lab;
  const folder = mkdtempSync(join(tmpdir(), "image-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const archive = readFileSync(makeRoot(folder));
  for (const [at, { prepare, call }] of Object.values(engines).entries()) {
    const host = others[at];
    assert.ok(host);
    writeFileSync(join(host.disk, "opt/root.tar"), archive);
    await host.run(`${prepare}\n${call} ${importWords("/opt/root.tar").map(shellWord).join(" ")}`);
  }
  assert.equal((await lab.run("deploy")).error, null);
  const launch = (name: string, infra: string) => {
    const task = {
      resources: { infra, image_id: "docker:lab/busy:1" },
      setup: "touch ~/left",
      run: "id -u; whoami; tool; (setsid sleep 1000 &)",
      config: { hooks: [{ run: "tool", events: ["down"] }] },
    };
    const file = join(home, `${name}.yaml`);
    writeFileSync(file, stringify(task));
    return cli("launch", "-y", "-c", name, file);
  };

  for (const [at, [name, { call, inside }]] of Object.entries(engines).entries())
    await t.test(`${name}: jobs, shells and hooks run in it, and nothing is left`, async () => {
      const host = others[at];
      assert.ok(host);
      const { code, stdout, stderr } = await launch(name, `ssh/lab/${host.address}`);
      assert.equal(code, 0, stderr);
      assert.match(stderr, new RegExp(`its container was started by ${name}`));
      assert.match(stdout, new RegExp(`^${inside}\nthe tool of the image$`, "m"));
      assert.equal(
        await host.run("stat -c %U /home/ana/left; pgrep -fc '^sleep 1000' || true"),
        "ana\n0",
      );
      const job = await cli("exec", name, "tool; exit 7");
      assert.match(job.stdout, /^the tool of the image$/m);
      assert.equal((await cli("shell", name, "--", "exit 4")).code, 4);

      assert.equal((await cli("down", "-y", name)).code, 0);
      const log = (await cli("logs", "--hook", "down", name)).stdout;
      assert.match(log, /^the tool of the image$/m);
      assert.equal(await host.run(`${call} ps -aq`), "");
      // Podman keeps the namespace of its user in a process of its own.
      const processes = "ps -u ana -o comm= | grep -Evx 'sshd|podman pause' || true";
      assert.equal(await host.run(processes), "");
    });

  await t.test("one without is refused with what to do", async () => {
    const { code, stderr } = await launch("none", `ssh/lab/${bare?.address}`);
    assert.notEqual(code, 0);
    const names = bare?.address.replaceAll(".", "\\.");
    const lacking = `free hosts without docker, podman or Apptainer for their user: ${names}; install`;
    assert.match(
      stderr,
      new RegExp(`nothing offers infra ssh/lab/${names}, containers.*${lacking}`),
    );
  });
});
