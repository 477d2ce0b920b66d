import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { programArgs } from "../../common/programs.ts";

const source = join(import.meta.dirname, "../../bin");
const pinned = `node-${process.platform}-${process.arch}`;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A checkout in miniature: the launcher and whatever files are named, scripts being executable. */
async function checkout(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "outrigger-bin-"));
  t.after(() => rm(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    const file = join(root, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    if (text.startsWith("#!")) await chmod(file, 0o755);
  }
  await mkdir(join(root, "bin"), { recursive: true });
  for (const name of ["outrigger", "install-if-missing"])
    await copyFile(join(source, name), join(root, "bin", name));
  return root;
}

const run = (file: string, words: readonly string[], path = process.env["PATH"]): Promise<Ended> =>
  new Promise((resolve) => {
    const env = { PATH: path, HOME: tmpdir(), NODE_COMPILE_CACHE: "" };
    execFile(file, words, { env }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
    );
  });

/** Stands for a node: says who it is and what it was given. */
const node = (name: string, version = "24") =>
  `#!/bin/sh\n[ "$1" = -p ] && echo ${version} && exit\necho ${name} "$@"\n`;

test("the launcher takes the pinned Node.js, also through links, and hands on every word", async (t) => {
  const root = await checkout(t, { [`node_modules/${pinned}/bin/node`]: node("pinned") });
  await symlink("../bin/outrigger", join(root, "node_modules/relative"));
  await symlink(join(root, "node_modules/relative"), join(root, "link"));

  const { stdout } = await run(join(root, "link"), ["launch", "echo a  b", ""]);

  const main = join(root, "client/main.ts");
  assert.equal(
    stdout,
    `pinned --disable-warning=ExperimentalWarning -- ${main} launch echo a  b \n`,
  );
});

test("without a pinned one it takes one from PATH that is new enough", async (t) => {
  const nodes = { "new/node": node("found"), "old/node": node("old", "20") };
  const root = await checkout(t, { ...nodes, "package-lock.json": "{}" });
  const tools = "/usr/bin:/bin";

  const found = await run(join(root, "bin/outrigger"), ["x"], `${root}/new:${tools}`);
  const old = await run(join(root, "bin/outrigger"), ["x"], `${root}/old:${tools}`);

  assert.match(found.stdout, /^found .* x\n$/);
  assert.equal(old.code, 1);
  assert.equal(old.stdout, "");
  assert.match(old.stderr, /^outrigger: needs Node\.js 24: 'npm install' in \S+ fetches it, /);

  await rm(join(root, "package-lock.json"));
  const installed = await run(join(root, "bin/outrigger"), ["x"], `${root}/old:${tools}`);
  assert.match(installed.stderr, /^outrigger: needs Node\.js 24: install it from https:/);
});

test("installed as a dependency, it takes the pinned Node.js that lies beside it", async (t) => {
  const root = await checkout(t, { "dist/outrigger.mjs": "" });
  const other = await checkout(t, { [`node_modules/${pinned}/bin/node`]: node("beside") });
  await rename(root, join(other, "node_modules/outrigger"));

  const { stdout } = await run(join(other, "node_modules/outrigger/bin/outrigger"), ["x"]);

  assert.match(stdout, /^beside .*\/dist\/outrigger\.mjs x\n$/);
});

test("compiled code is cached in a folder of the user, and nowhere without one", async (t) => {
  const shown = '#!/bin/sh\necho "cache:$NODE_COMPILE_CACHE"\n';
  const root = await checkout(t, { [`node_modules/${pinned}/bin/node`]: shown });
  const cacheFor = async (env: Record<string, string>) =>
    (await promisify(execFile)(join(root, "bin/outrigger"), { env })).stdout;
  const PATH = process.env["PATH"] ?? "";

  assert.equal(await cacheFor({ PATH, HOME: "/h" }), "cache:/h/.cache/outrigger\n");
  assert.equal(await cacheFor({ PATH, HOME: "/h", XDG_CACHE_HOME: "/x" }), "cache:/x/outrigger\n");
  assert.equal(await cacheFor({ PATH }), "cache:\n");
});

test("the bundle runs as long as no source is newer", async (t) => {
  const root = await checkout(t, {
    [`node_modules/${pinned}/bin/node`]: node("pinned"),
    ...{ "dist/outrigger.mjs": "", "client/main.ts": "", "contract/deep/row.ts": "" },
    ...{ "common/a.ts": "", "control/a.ts": "", "agent/a.ts": "", "sidecar/a.ts": "" },
  });
  const later = new Date(Date.now() + 60_000);

  await utimes(join(root, "dist/outrigger.mjs"), later, later);
  const fresh = await run(join(root, "bin/outrigger"), []);
  const latest = new Date(later.getTime() + 60_000);
  await utimes(join(root, "contract/deep/row.ts"), latest, latest);
  const stale = await run(join(root, "bin/outrigger"), []);

  assert.match(fresh.stdout, /dist\/outrigger\.mjs\n$/);
  assert.match(stale.stdout, /client\/main\.ts\n$/);
});

test("the sidecar is started at once, as it is started elsewhere", async (t) => {
  const root = await checkout(t, { [`node_modules/${pinned}/bin/node`]: node("pinned") });
  const flags = programArgs("sidecar").slice(0, -1).join(" ");

  const source = await run(join(root, "bin/outrigger"), ["sidecar", "--key", "a  b", "--", "c"]);
  await mkdir(join(root, "dist"));
  await writeFile(join(root, "dist/sidecar.mjs"), "");
  const bundled = await run(join(root, "bin/outrigger"), ["sidecar"]);

  assert.equal(source.stdout, `pinned ${flags} -- ${root}/sidecar/main.ts --key a  b -- c\n`);
  assert.equal(bundled.stdout, `pinned ${flags} -- ${root}/dist/sidecar.mjs\n`);
});

test("no word is taken by Node.js for itself", async () => {
  const words = ["--env-file", "no-such.env", "echo"];

  const client = await run(join(source, "outrigger"), ["launch", "-y", "-c", "dev", ...words]);
  const sidecar = await run(join(source, "outrigger"), ["sidecar", ...words]);

  assert.deepEqual(client, {
    code: 3,
    stdout: "",
    stderr: "error: there is no file no-such.env\n",
  });
  assert.match(sidecar.stderr, /unknown option '--env-file'/i);
  assert.equal(sidecar.code, 2);
});

test("dependencies are installed once, and again when the lock file changes", async (t) => {
  const npm = '#!/bin/sh\necho "$@" > npm-was-called\n';
  const root = await checkout(t, { "package-lock.json": "{}", "tools/npm": npm });
  const path = `${root}/tools:/usr/bin:/bin`;
  const install = () => run(join(root, "bin/install-if-missing"), [], path);

  const first = await install();
  await mkdir(join(root, "node_modules"));
  await writeFile(join(root, "node_modules/.package-lock.json"), "{}");
  const second = await install();
  const later = new Date(Date.now() + 60_000);
  await utimes(join(root, "package-lock.json"), later, later);
  const third = await install();

  assert.equal(first.stderr, "Installing dependencies (npm ci), once.\n");
  assert.deepEqual(second, { code: 0, stdout: "", stderr: "" });
  assert.equal(third.stderr, first.stderr);
});
