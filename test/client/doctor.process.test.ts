import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Finding } from "../../client/doctor/finding.ts";
import { lookAtDisk, lookAtHome } from "../../client/doctor/home.ts";
import {
  lookAtBash,
  lookAtControlGroups,
  lookAtNode,
  lookAtSsh,
  lookAtSystem,
  lookAtSystemd,
} from "../../client/doctor/machine.ts";
import { asNobody, canBeNobody } from "../helpers/nobody.ts";
import { startControl } from "../helpers/programs.ts";
import { commandLine } from "./command-line.ts";
import { fakeControl, sendJson } from "./fake-control.ts";

const healthy = { status: "healthy", api_version: "62", version: "1", commit: "1" };
const nowhere = "http://127.0.0.1:1";

async function aFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "outrigger-doctor-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** What `doctor -o json` says at an endpoint, by check. */
async function findingsAt(t: TestContext, endpoint: string) {
  const outrigger = await commandLine(t, endpoint);
  await chmod(outrigger.folder, 0o700);
  const env = { PATH: process.env["PATH"] };
  const { code, stdout } = await outrigger(["doctor", "-o", "json"], { env });
  const rows: Finding[] = JSON.parse(stdout);
  const row = (check: string) => rows.find((one) => one.check === check);
  return { code, control: row("Control plane"), port: row("Port"), rows };
}

test("a control plane that serves us is fine, and so is its port", async (t) => {
  const control = await startControl(t);

  const { code, stdout } = await control.cli("doctor", "-o", "json");

  const rows: Finding[] = JSON.parse(stdout);
  const found = rows.filter(({ check }) => /^(Control plane|Port)$/.test(check));
  assert.equal(code, 0, stdout);
  assert.deepEqual(
    found.map(({ status }) => status),
    ["ok", "ok"],
  );
  assert.ok(found[0]?.found.includes(`${control.endpoint}, pid ${control.pid} of ${control.home}`));
});

test("one that refuses us is missing, and its token is what to ask for", async (t) => {
  const fake = await fakeControl(t, {
    "GET /api/health": (_seen, res) => sendJson(res, 200, healthy),
    "GET /api/status": (_seen, res) => sendJson(res, 401, { detail: "no" }),
  });

  const { code, control, port } = await findingsAt(t, fake.endpoint);

  assert.deepEqual([code, control?.status, port?.status], [1, "missing", "ok"]);
  assert.match(control?.found ?? "", /, started by (you|root), which refuses you$/);
  assert.match(control?.hint ?? "", /OUTRIGGER_TOKEN .* ~\/\.outrigger\/token/);
});

test("one that fails is not taken for another program", async (t) => {
  const fake = await fakeControl(t, {
    "GET /api/health": (_seen, res) => sendJson(res, 200, healthy),
    "GET /api/status": (_seen, res) => sendJson(res, 507, { detail: "the disk is full" }),
  });

  const { code, control, port } = await findingsAt(t, fake.endpoint);

  assert.deepEqual([code, control?.status, port?.status], [1, "missing", "ok"]);
  assert.match(control?.found ?? "", /: the disk is full$/);
  assert.match(control?.hint ?? "", /^see its log, \S+control\.log$/);
});

test("one of another address is shown with the address", async (t) => {
  const control = await startControl(t);

  const env = { OUTRIGGER_HOME: control.home, PATH: "" };
  const outrigger = await commandLine(t, nowhere);
  const { code, stdout } = await outrigger(["doctor", "-o", "json"], { env });

  const rows: Finding[] = JSON.parse(stdout);
  assert.equal(code, 0, stdout);
  assert.equal(
    rows.find(({ check }) => check === "Control plane")?.hint,
    `run: export OUTRIGGER_ENDPOINT=${control.endpoint}`,
  );
});

test("a port at which nobody answers is in use all the same", async (t) => {
  const mute = createServer(() => {});
  await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
  t.after(() => mute.close());
  const { port: mutePort } = mute.address() as { port: number };

  const { control, port } = await findingsAt(t, `http://127.0.0.1:${mutePort}`);

  assert.match(control?.found ?? "", /: no answer within 2\.5 s$/);
  assert.equal(port?.status, "missing");
});

test("without one on this machine there is a warning, and the port is free", async (t) => {
  const { code, control, port } = await findingsAt(t, nowhere);

  assert.deepEqual([code, control?.status, port?.found], [0, "warning", "1 is free"]);
  assert.equal(control?.hint, "start one: outrigger api start");
});

test("a host that is not known is named", async (t) => {
  const { code, control, port } = await findingsAt(t, "http://nowhere.invalid:46580");

  assert.deepEqual([code, control?.status, port], [1, "missing", undefined]);
  assert.match(control?.found ?? "", /^http:\/\/nowhere\.invalid:46580: no /);
});

test("another program at the port is named as such, whatever it speaks", async (t) => {
  const web = await fakeControl(t, {
    "GET /api/health": (_seen, res) => void res.end("<html>".repeat(100_000)),
  });
  const noHttp = createServer((socket) => socket.end("SSH-2.0-x\r\n"));
  await new Promise<void>((resolve) => noHttp.listen(0, "127.0.0.1", resolve));
  t.after(() => noHttp.close());
  const { port: noHttpPort } = noHttp.address() as { port: number };

  for (const endpoint of [web.endpoint, `http://127.0.0.1:${noHttpPort}`]) {
    const { code, control, port } = await findingsAt(t, endpoint);

    assert.deepEqual([code, control?.status, port?.status], [1, "missing", "missing"]);
    assert.match(control?.found ?? "", /another program answers there$/);
    assert.match(port?.found ?? "", /in use by another program, started by you$/);
    assert.match(port?.hint ?? "", /outrigger api start --port PORT$/);
  }
});

test("every finding has a line, hints stand below, and nothing is created", async (t) => {
  const outrigger = await commandLine(t, nowhere);
  const home = join(outrigger.folder, "not/there");

  const { stdout } = await outrigger(["doctor"], { env: { PATH: "", OUTRIGGER_HOME: home } });

  assert.match(stdout, /^ok {7}Home folder {7}\S+\/not\/there, to be created when it is needed$/m);
  assert.match(stdout, /^warning {2}bash {14}not in PATH\n {27}install bash; /m);
  assert.equal(lookAtHome(join(outrigger.folder, "not")).status, "ok");
  assert.match(lookAtHome(join(outrigger.folder, "not")).found, /to be created/);
});

test("a home is the user's own, and closed to others", async (t) => {
  const folder = await aFolder(t);
  await chmod(folder, 0o755);
  const open = lookAtHome(folder);
  await chmod(folder, 0o700);
  await writeFile(join(folder, "file"), "");

  assert.deepEqual([open.status, open.hint], ["warning", `run: chmod 700 ${folder}`]);
  assert.equal(lookAtHome(folder).status, "ok");
  assert.match(lookAtHome(folder, 4_321).found, / belongs to user \d+$/);
  assert.match(lookAtHome(join(folder, "file")).found, / is not a folder$/);
});

test("a home that cannot be written is missing", {
  skip: !canBeNobody && "needs root to become a user without rights",
}, async (t) => {
  const folder = await aFolder(t);
  const body = `return [lookAtHome(${JSON.stringify(folder)}), lookAtHome("/root/a/b")]`;

  const [there, absent] = (await asNobody({ lookAtHome: "client/doctor/home.ts" }, body)) as [
    Finding,
    Finding,
  ];

  assert.deepEqual([there.status, absent.status], ["missing", "missing"]);
  assert.match(absent.found, /^\/root\/a\/b cannot be created: \/\S* is not writable$/);
});

test("a disk that is nearly full is a warning, one that is full is missing", () => {
  const free = (megabytes: number) =>
    lookAtDisk("/", { bavail: megabytes, bsize: 1_000_000 } as never);

  assert.deepEqual(
    [5_000, 500, 50].map((megabytes) => free(megabytes).status),
    ["ok", "warning", "missing"],
  );
  assert.equal(free(5_000).found, "5.0 GB free for /");
  assert.equal(lookAtDisk("/not/there").found.endsWith(" for /not/there"), true);
});

test("Node.js is new enough, and clusters on this machine need Linux", () => {
  assert.deepEqual([lookAtNode("24.0.0").status, lookAtNode("22.9.9").status], ["ok", "missing"]);
  assert.deepEqual(
    [lookAtSystem("linux").status, lookAtSystem("darwin").status],
    ["ok", "warning"],
  );
});

test("programs are those of PATH that can be run", async (t) => {
  const folder = await aFolder(t);
  await writeFile(join(folder, "ssh"), "", { mode: 0o644 });
  await writeFile(join(folder, "bash"), "", { mode: 0o755 });
  const env = { PATH: folder };

  assert.equal(lookAtBash(env).found, join(folder, "bash"));
  assert.equal(lookAtSsh({ PATH: "" }).status, "warning");
  assert.match(lookAtSsh({ PATH: "" }).hint ?? "", /openssh-client/);
  assert.equal(lookAtSsh(env).status, "warning");
});

test("systemd counts where it runs, for a user only with services of their own", async (t) => {
  const folder = await aFolder(t);
  const ana = { uid: 1_000, name: "ana", home: "", shell: "" };
  const root = { ...ana, uid: 0, name: "root" };

  assert.equal(lookAtSystemd(folder, root).found, "does not run this machine");
  await mkdir(join(folder, "systemd/system"), { recursive: true });
  assert.equal(lookAtSystemd(folder, root).status, "ok");
  assert.match(lookAtSystemd(folder, ana).hint ?? "", /enable-linger/);
  await mkdir(join(folder, "user/1000/systemd"), { recursive: true });
  assert.equal(lookAtSystemd(folder, ana).status, "ok");
});

test("control groups count where this user may change them", async (t) => {
  const folder = await aFolder(t);
  for (const group of ["memory/a", "cpu,cpuacct/b", "user.slice"]) {
    await mkdir(join(folder, group), { recursive: true });
    await writeFile(join(folder, group, "cgroup.procs"), "");
  }
  const look = (...lines: string[]) => lookAtControlGroups(lines.join("\n"), folder);

  assert.equal(look("0::/user.slice").found, "v2");
  assert.equal(look("4:memory:/a", "3:pids:/a", "0::/elsewhere").found, "v1 (memory)");
  assert.equal(look("0::/elsewhere").status, "warning");
  assert.match(look("").hint ?? "", /outrigger agent install$/);
});
