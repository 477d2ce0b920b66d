import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { shellWord } from "../../common/shell-word.ts";
import { slurmOperations } from "../../contract/operations/slurm.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { installApptainer, whyNoApptainer } from "../helpers/apptainer.ts";
import { importWords, makeRoot, mountGroups, whyNoEngine } from "../helpers/engines.ts";
import { startControl } from "../helpers/programs.ts";
import { type SlurmLab, startSlurm, startSlurmBehind, whyNoSlurm } from "../helpers/slurm.ts";
import { startSshHost, whyNoHosts } from "../helpers/ssh-hosts.ts";

/**
 * A Slurm whose login node is another machine, and a control plane that has no more than a key of one of its users.
 * With another Slurm on this machine, that is the first of two sites.
 */
async function startBehindLogin(
  t: TestContext,
  { here, limits }: { here?: SlurmLab; limits?: "limits" | "" } = {},
) {
  const host = await startSshHost(t);
  if (limits !== undefined) await host.run(mountGroups);
  const slurm = await startSlurmBehind(host, limits);
  if (here) await host.run(`mkdir -p ${here.folder}; ln -s ${slurm.conf} ${here.conf}`);
  const home = mkdtempSync(join(tmpdir(), "slurm-user-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  mkdirSync(join(home, ".ssh"));
  writeFileSync(join(home, ".ssh/id_ed25519"), host.key, { mode: 0o600 });
  const env = {
    ...{ HOME: home, OUTRIGGER_SLURM: `${here ? "local,lab=" : ""}ana@${host.address}` },
    OUTRIGGER_SLURM_CONF: (here ?? slurm).conf,
  };
  return { host, slurm, control: await startControl(t, { env }) };
}

const aTask = (run: string) => JSON.stringify({ run, resources: { infra: "slurm" } });

test("clusters on a Slurm behind a login node, as a user without rights", {
  skip: whyNoSlurm() || whyNoHosts(),
  timeout: 300_000,
}, async (t) => {
  const { host, slurm, control } = await startBehindLogin(t);
  const pair = clusterOf(control, "pair");
  const jobs = () => slurm.run("squeue", "--noheader", "--states=all", "--format=%u %D %T");

  await t.test("its job runs on both nodes, each with its GPUs", async () => {
    const resources = { infra: `slurm/${host.address}`, accelerators: "h100:2" };
    const run = `echo rank $OUTRIGGER_NODE_RANK of $(id -un) has $CUDA_VISIBLE_DEVICES
echo its home is $HOME; touch ~/gone ~/home/kept-$OUTRIGGER_NODE_RANK`;
    const id = await pair.launch(JSON.stringify({ num_nodes: 2, resources, run }));
    const { code, text } = await pair.follow(id);
    assert.equal(code, 0, text);
    assert.match(text, /rank 0 of ana has 0,1$/m);
    assert.match(text, /rank 1 of ana has 0,1$/m);
    const homes = text.match(/(?<=its home is )\/tmp\/outrigger-4001-\d+-[01]$/gm);
    assert.equal(new Set(homes).size, 2, text);
    assert.equal(await jobs(), "ana 2 RUNNING");
  });

  await t.test("it goes on while control is killed, and is found again", async () => {
    await control.end("SIGKILL");
    await control.start();
    const { text } = await pair.follow(await pair.exec(aTask("echo after it")));
    assert.match(text, /after it/);
    const free = await control.client.callAndGet(slurmOperations.slurmGpuAvailability, {});
    assert.deepEqual(free, [[host.address, [["h100", [1, 2, 4], 8, 4]], null]]);
  });

  await t.test(
    "at rest, it has one process on the login node: the end of one connection",
    async () => {
      // Nodes are the same machine here; what runs in the allocation says so.
      const listed = `for pid in $(pgrep -u ana); do
  grep -qzs ^SLURM_JOB_ID= /proc/$pid/environ || tr '\\0' ' ' < /proc/$pid/cmdline; done`;
      const isOne = (text: string) => /^sshd: ana(@\S+)?\s*$/.test(text);
      // It is at rest between two looks at the queue, which come every few seconds.
      await until(async () => {
        for (let look = 0; look < 5; look += 1)
          if (!isOne(await host.run(listed).catch(() => ""))) return undefined;
        return true;
      });
    },
  );

  await t.test("nothing is left once it is down", async () => {
    await pair.down();
    await until(async () => (await slurm.run("squeue", "--noheader")) === "" || undefined);
    assert.equal(await host.run("ls /home/ana/.outrigger/slurm; ls /tmp"), "");
    assert.equal(await host.run("ls /home/ana"), "kept-0\nkept-1");
  });

  await t.test("a submission that outlives control is not made again", async () => {
    const [begun, go] = ["/tmp/begun", "/tmp/go"];
    const script = `#!/bin/bash\ntouch ${begun}\nuntil [ -e ${go} ]; do sleep 0.1; done\nexec /usr/bin/sbatch "$@"\n`;
    writeFileSync(join(host.disk, "usr/local/bin/sbatch"), script, { mode: 0o755 });
    const before = (await jobs()).split("\n").length;
    const one = clusterOf(control, "one");

    void one.launch(aTask("echo once")).catch(() => {});
    await until(() => existsSync(join(host.disk, begun)) || undefined);
    await control.end("SIGKILL");
    await control.start();
    await host.run(`touch ${go}`);

    await one.untilStatus("UP");
    await one.untilJob(1, "SUCCEEDED");
    assert.equal((await jobs()).split("\n").length, before + 1);
    await one.down();
  });

  await t.test(
    "a submission that arrives after control was begun anew submits nothing",
    async () => {
      const [begun, go, over] = ["/tmp/sent", "/tmp/arrive", "/tmp/over"];
      const script = `#!/bin/sh
case $* in *"sbatch --parsable"*) [ -e ${begun} ] || {
  touch ${begun}
  until [ -e ${go} ]; do sleep 0.1; done
  /bin/bash "$@"
  touch ${over}
  exit
} ;; esac
exec /bin/bash "$@"\n`;
      writeFileSync(join(host.disk, "usr/local/bin/bash"), script, { mode: 0o755 });
      const two = clusterOf(control, "two");

      void two.launch(aTask("echo twice")).catch(() => {});
      await until(() => existsSync(join(host.disk, begun)) || undefined);
      await control.end("SIGKILL");
      await control.start();
      await two.untilStatus("UP");
      await two.down();
      const before = await jobs();
      await host.run(`touch ${go}`);

      await until(() => existsSync(join(host.disk, over)) || undefined);
      assert.equal(await jobs(), before);
      assert.equal(await host.run("ls /home/ana/.outrigger/slurm"), "");
    },
  );
});

/** What else a rootless podman needs of a machine: ids, queues, and mounts that are passed on. */
const forPodman = `
echo ana:100000:65536 | tee /etc/subuid > /etc/subgid
mkdir -p /etc/containers /dev/mqueue /var/tmp
chmod 1777 /var/tmp
echo '{"default": [{"type": "insecureAcceptAnything"}]}' > /etc/containers/policy.json
mount -t mqueue mqueue /dev/mqueue
mount --make-rshared /`;

test("a task in an image runs in a podman within its allocation, and nothing outlives that", {
  skip: whyNoSlurm() || whyNoHosts() || whyNoEngine("podman"),
  timeout: 300_000,
}, async (t) => {
  const hadQueues = existsSync("/dev/mqueue");
  const memory = "/sys/fs/cgroup/memory";
  const limits = existsSync(memory) ? "limits" : "";
  const { host, slurm, control } = await startBehindLogin(t, { limits });
  const groups = [
    memory,
    "/sys/fs/cgroup/cpuset",
    ..."-depth -path */slurm_n[12]* -type d".split(" "),
  ];
  t.after(() => void spawnSync("find", [...groups, "-delete"]));
  t.after(() => hadQueues || rmSync("/dev/mqueue", { recursive: true, force: true }));
  const folder = mkdtempSync(join(tmpdir(), "image-"));
  t.after(() => rmSync(folder, { recursive: true }));
  cpSync(makeRoot(folder), join(host.disk, "opt/root.tar"));
  const asAna = (words: string) =>
    host.run(`cd / && setpriv --reuid=4001 --regid=4001 --clear-groups \
    env -i HOME=/home/ana PATH=/usr/bin:/bin:/usr/sbin ${words}`);
  await host.run(forPodman);
  await asAna(["podman", ...importWords("/opt/root.tar").map(shellWord)].join(" "));
  const boxed = clusterOf(control, "boxed");
  const logOf = async (id: number) => (await boxed.follow(id)).text;
  const task = {
    run: "id -u; tool; echo has $CUDA_VISIBLE_DEVICES; env | grep ^SLURM; touch /made; ls ~/home/.outrigger",
    resources: { infra: "slurm", image_id: "docker:lab/busy:1", accelerators: "h100:2" },
    config: { hooks: [{ run: "ls /made > ~/home/saved", events: ["down"], timeout: 10 }] },
  };

  const text = await logOf(await boxed.launch(JSON.stringify(task)));
  assert.match(text, /^0\n.*\nhas 0,1\n/m);
  assert.match(text, /the tool of the image\n.*slurm/s);
  assert.doesNotMatch(text, /SLURM/);
  assert.match(await logOf(await boxed.exec(aTask("ls /made; sleep 1000 & sleep 0"))), /\/made/);

  if (limits) {
    const grows = `bash -c 'x=$(head -c 1500m /dev/zero | tr "\\0" x)'; echo "ended with $?"; nproc`;
    assert.match(await logOf(await boxed.exec(aTask(grows))), /^ended with 137\n1\n/m);
  }
  const cgroups = "podman container inspect -f {{.HostConfig.Cgroups}} $(podman ps -q)";
  assert.equal(await asAna(`bash -c '${cgroups}'`), "disabled");

  await boxed.down();
  await until(async () => (await slurm.run("squeue", "--noheader")) === "" || undefined);
  assert.equal(await host.run("cat /home/ana/saved"), "/made");
  assert.equal(await asAna("podman ps -aq"), "");
  const left = "pgrep -u ana -a | grep -v -e sshd -e 'podman$' || true";
  await until(async () => (await host.run(left)) === "" || undefined);
  assert.equal(
    await host.run("ls /home/ana/.outrigger/slurm; ls /tmp | grep outrigger || true"),
    "",
  );
});

test("where podman is not set up for the user, a task in an image runs in Apptainer, and nothing of it is left", {
  skip: whyNoSlurm() || whyNoHosts() || whyNoApptainer(),
  timeout: 300_000,
}, async (t) => {
  const { host, slurm, control } = await startBehindLogin(t);
  const folder = mkdtempSync(join(tmpdir(), "image-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const apptainer = installApptainer(join(host.disk, "usr/local/bin"));
  apptainer.addImage("lab/busy:1", makeRoot(folder), { login: "ana:s3" });
  const pair = clusterOf(control, "pair");
  const task = {
    ...{ num_nodes: 2, setup: "touch /made" },
    run: "ls /made; id -u; tool; echo has $CUDA_VISIBLE_DEVICES; env | grep ^SLURM; ls ~/home/.outrigger; sleep 1000 & sleep 0",
    resources: { infra: "slurm", image_id: "docker:lab/busy:1", accelerators: "h100:2" },
    config: { hooks: [{ run: "ls /made > ~/home/saved", events: ["down"], timeout: 10 }] },
  };
  const login = { DOCKER_USERNAME: "ana", DOCKER_PASSWORD: "s3", DOCKER_SERVER: "lab" };
  const secrets = Object.entries(login).map(([key, value]) => [`SKYPILOT_${key}`, value]);

  const id = await pair.launch(
    JSON.stringify({ ...task, secrets: Object.fromEntries(secrets), name: "boxed" }),
  );
  const { code, text } = await pair.follow(id);
  assert.equal(code, 0, text);
  for (const said of ["/made", "4001", "the tool of the image", "has 0,1", "slurm"])
    assert.equal(text.split(`) ${said}\n`).length, 3, `${said}: ${text}`);
  assert.doesNotMatch(text, /SLURM/);

  await pair.down();
  await until(async () => (await slurm.run("squeue", "--noheader")) === "" || undefined);
  assert.equal(await host.run("cat /home/ana/saved"), "/made");
  const left = "pgrep -u ana -a | grep -v -e sshd || true";
  await until(async () => (await host.run(left)) === "" || undefined);
  assert.equal(
    await host.run("ls /home/ana/.outrigger/slurm; ls /tmp | grep outrigger || true"),
    "",
  );
});

test("of two sites, the second has what the first refuses or is away for, and both keep their clusters", {
  skip: whyNoSlurm() || whyNoHosts(),
  timeout: 300_000,
}, async (t) => {
  const here = await startSlurm(t);
  const { slurm: lab, control } = await startBehindLogin(t, { here });
  const [one, two, three] = ["one", "two", "three"].map((name) => clusterOf(control, name));
  const jobsOf = (slurm: SlurmLab) => slurm.run("squeue", "--noheader", "--format=%u");

  await one?.launch(aTask("true"));
  for (const name of ["low", "high"])
    await here.run("scontrol", "update", `partitionname=${name}`, "allowaccounts=physics");
  await two?.launch(aTask("true"));
  assert.deepEqual([await jobsOf(here), await jobsOf(lab)], ["root", "ana"]);

  await control.end("SIGKILL");
  await control.start();
  for (const cluster of [one, two]) {
    const { text } = (await cluster?.follow(await cluster.exec(aTask("echo after it")))) ?? {};
    assert.match(`${text}`, /after it/);
  }
  const free = await control.client.callAndGet(slurmOperations.slurmGpuAvailability, {});
  assert.deepEqual(
    free.map(([site, , why]) => [site, why]),
    [
      ["local", null],
      ["lab", null],
    ],
  );
  await here.run("scontrol", "update", "partitionname=low", "allowaccounts=ALL");
  await here.run("scontrol", "shutdown", "slurmctld");
  await three?.launch(aTask("true"));
  assert.equal(await jobsOf(lab), "ana\nana");
  await here.run("slurmctld");

  for (const cluster of [one, two, three]) await cluster?.down();
  for (const slurm of [here, lab])
    await until(async () => (await jobsOf(slurm)) === "" || undefined);
});
