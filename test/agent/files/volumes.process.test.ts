import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { exportsFolder } from "../../../contract/files-api.ts";
import { removeTraces } from "../../../control/providers/local-traces.ts";
import { startAgent, until } from "../../helpers/agent.ts";

function aFolder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "volume-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test("a folder, or one within it, is at a path of the node, and outlives what lay there", async (t) => {
  const path = aFolder(t);
  const agent = await startAgent(t);
  const attach = (destination: string, subPath = "") =>
    agent.call("attachVolume", { destination, subPath, source: { kind: "folder", path } });

  await attach("~/data");
  await attach("~/data");
  await attach("runs", "a/b");

  const job = await agent.submit("echo kept > ~/data/x && echo deep > runs/y");
  await agent.untilJob(job.id, "SUCCEEDED");
  assert.equal(readFileSync(join(path, "x"), "utf8"), "kept\n");
  assert.equal(readFileSync(join(path, "a/b/y"), "utf8"), "deep\n");
  await removeTraces(agent.home);
  rmSync(agent.home, { recursive: true });
  assert.deepEqual(readdirSync(path).sort(), ["a", "x"]);
});

test("what lies at the path of a volume already is not replaced", async (t) => {
  const [path, other] = [aFolder(t), aFolder(t)];
  const agent = await startAgent(t);
  const attach = (destination: string, from = path) =>
    agent.call("attachVolume", {
      destination,
      subPath: "",
      source: { kind: "folder", path: from },
    });
  mkdirSync(join(agent.home, "full/of"), { recursive: true });
  symlinkSync(other, join(agent.home, "theirs"));

  await assert.rejects(attach("~/full"), {
    name: "ConflictError",
    message: /has files of its own/,
  });
  await assert.rejects(attach("~/theirs"), {
    name: "ConflictError",
    message: new RegExp(`/theirs is a link to ${other} already`),
  });
  await assert.rejects(attach("~/gone", `${path}/none`), {
    name: "NotFoundError",
    message: `there is no folder ${path}/none on this node`,
  });
  await attach("~/own");
  await attach("~/own", other);
  assert.equal(readlinkSync(join(agent.home, "own")), other);
});

test("files that come in place of a volume do not go into it", async (t) => {
  const path = aFolder(t);
  writeFileSync(join(path, "x"), "theirs");
  const agent = await startAgent(t);
  const source = { kind: "folder" as const, path };
  await agent.call("attachVolume", { destination: "~/data", subPath: "", source });
  const entries = [
    { kind: "folder", path: "" },
    { kind: "folder", path: "sub" },
  ];
  const offer = (lines: object[]) =>
    agent.call(
      "offerFiles",
      { destination: "~/data" },
      Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join("")),
    );

  await offer(entries);

  assert.deepEqual(readdirSync(join(agent.home, "data")), ["sub"]);
  assert.deepEqual(readdirSync(path), ["x"]);
});

test("links outside of a node's folder go with it", async (t) => {
  const [path, outside] = [aFolder(t), aFolder(t)];
  const agent = await startAgent(t);
  const source = { kind: "folder" as const, path };
  const destination = join(outside, "data");
  await agent.call("attachVolume", { destination, subPath: "", source });
  writeFileSync(join(destination, "x"), "");

  await removeTraces(agent.home);

  assert.deepEqual(readdirSync(outside), []);
  assert.deepEqual(readdirSync(path), ["x"]);
});

test("a link that another node of the machine has too goes with the last of them", async (t) => {
  const [path, outside] = [aFolder(t), aFolder(t)];
  const [one, two] = [await startAgent(t), await startAgent(t)];
  const source = { kind: "folder" as const, path };
  for (const agent of [one, two])
    await agent.call("attachVolume", { destination: join(outside, "data"), subPath: "", source });

  await removeTraces(one.home, [two.home]);
  assert.deepEqual(readdirSync(outside), ["data"]);
  await removeTraces(two.home, [one.home]);

  assert.deepEqual(readdirSync(outside), []);
});

/** A `mount` that binds a folder of ours in place of the server's. */
function mountInPath(t: TestContext, exported: string): string {
  const folder = aFolder(t);
  const script = `#!/bin/bash\necho "$@" >> ${folder}/calls\nrm ${folder}/broken 2>/dev/null && exit 1\nexec /bin/mount --bind ${exported} "\${@: -1}"\n`;
  writeFileSync(join(folder, "mount"), script, { mode: 0o755 });
  return folder;
}

const source = { kind: "nfs", server: "nas", path: "/export", options: "ro,vers=4.2" } as const;
const order = { destination: "~/data", subPath: "", source };

const skip = process.getuid?.() !== 0 && "mounting needs root";

/** An agent that mounts a folder for each export. */
async function exporting(t: TestContext) {
  const exported = aFolder(t);
  writeFileSync(join(exported, "x"), "theirs");
  const programs = mountInPath(t, exported);
  const agent = await startAgent(t, { env: { PATH: `${programs}:${process.env["PATH"]}` } });
  return { exported, programs, agent };
}

test("an export is mounted once, again when the agent starts, and not touched when the node goes", {
  skip,
}, async (t) => {
  const { exported, programs, agent } = await exporting(t);
  const mounted = () => readlinkSync(join(agent.home, "data"));

  await agent.call("attachVolume", order);
  await agent.call("attachVolume", order);
  assert.equal(
    readFileSync(join(programs, "calls"), "utf8"),
    `-t nfs -o ro,vers=4.2 nas:/export ${mounted()}\n`,
  );
  assert.ok(mounted().startsWith(exportsFolder));
  await agent.end("SIGTERM");
  execFileSync("umount", [mounted()]);
  await agent.start();
  await until(async () => existsSync(join(mounted(), "x")) || undefined);

  const folder = mounted();
  await removeTraces(agent.home);
  rmSync(agent.home, { recursive: true, force: true });
  assert.ok(!existsSync(folder));
  assert.equal(readFileSync(join(exported, "x"), "utf8"), "theirs");
});

test("a job waits for an export that cannot be mounted yet after the machine was off", {
  skip,
}, async (t) => {
  const { programs, agent } = await exporting(t);
  t.after(() => removeTraces(agent.home));
  await agent.call("attachVolume", order);
  await agent.end("SIGTERM");
  execFileSync("umount", [readlinkSync(join(agent.home, "data"))]);
  writeFileSync(join(programs, "broken"), "");

  await agent.start();
  const { id } = await agent.submit("cat ~/data/x");

  await agent.untilJob(id, "SUCCEEDED");
});

test("an export that cannot be mounted says why, and what to do", async (t) => {
  const programs = aFolder(t);
  const script = "#!/bin/sh\necho 'mount: only root can do that' >&2\nexit 1\n";
  writeFileSync(join(programs, "mount"), script, { mode: 0o755 });
  const agent = await startAgent(t, { env: { PATH: `${programs}:${process.env["PATH"]}` } });

  await assert.rejects(agent.call("attachVolume", order), {
    name: "StorageError",
    message:
      /^the node cannot mount nas:\/export: mount: only root can do that; it needs the agent to run as root and mount.nfs/,
  });
});
