import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { machine, tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { findProgram } from "../../../common/mounts.ts";
import { gatherScript, settleScript } from "../../../control/doors/runtime.ts";
import { openBundles } from "../../../control/doors/ssh/bundles.ts";
import { openLoopProbe } from "../../helpers/loop-probe.ts";

const run = promisify(execFile);
const programs = join(import.meta.dirname, "../../../common/programs.ts");

/** The Node.js of this machine as control sends it, in `/runtime` of a root that has nothing else. */
async function gather(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), "root-"));
  t.after(() => rmSync(root, { recursive: true }));
  const folder = join(root, "runtime");
  await run(process.execPath, ["-e", gatherScript, folder]);
  return { root, folder };
}

/** Settles it; what is given comes before that, such as words that change the root. */
const settle = (folder: string, ...before: string[]) => {
  const [program = "", ...words] = [...before, "sh", "-c", `${settleScript}\nsettle "$1"`, "sh"];
  return run(program, [...words, folder]).catch((error) => error);
};

test("Node.js is left without libraries where it starts by itself", async (t) => {
  const { folder } = await gather(t);
  await settle(folder);
  assert.equal(existsSync(join(folder, "lib")), false);
  const { stdout } = await run(join(folder, "bin/node"), ["--version"]);
  assert.equal(stdout.trim(), process.version);
});

test("Node.js is packed beside everything else, so that every tar unpacks it", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "bundles-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const probe = openLoopProbe();
  t.after(() => probe.stop());

  const { file } = await openBundles(folder).runtime(machine());

  const longestMs = probe.take();
  assert.ok(longestMs < 100, `a turn of the event loop took ${longestMs} ms`);
  const tars = [["tar"], ...(busybox === undefined ? [] : [[busybox, "tar"]])];
  for (const [at, [program = "", ...words]] of tars.entries()) {
    const out = join(folder, String(at));
    mkdirSync(out);
    await run(program, [...words, "-xzf", file, "-C", out]);
    const { stdout } = await run(join(out, "bin/node"), ["--version"]);
    assert.equal(stdout.trim(), process.version);
  }
});

const busybox = findProgram(process.env["PATH"] ?? "", "busybox");
const skip =
  (process.getuid?.() !== 0 && "needs root") || (busybox === undefined && "needs busybox-static");
test("Node.js starts by its own loader in a root without libraries", { skip }, async (t) => {
  const { root, folder } = await gather(t);
  for (const name of ["bin", "dev", "proc"]) mkdirSync(join(root, name));
  writeFileSync(join(root, "dev/null"), "");
  await run("cp", [busybox ?? "", join(root, "bin/busybox")]);
  for (const name of ["env", "mv", "rm", "sh"]) symlinkSync("busybox", join(root, "bin", name));
  await run("cp", [programs, join(root, "programs.ts")]);
  writeFileSync(
    join(root, "main.ts"),
    `import { execFileSync } from "node:child_process";
import { nodeProgram } from "./programs.ts";
console.log(nodeProgram);
console.log(String(execFileSync(nodeProgram, ["-p", "process.version"])).trim());
console.log(String(execFileSync("env")));`,
  );
  const within = ["unshare", "--mount", "sh", "-c"];
  const inRoot = [...within, 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', root];
  const [program = "", ...words] = [...inRoot, "env", "-i", "PATH=/bin", "A=b"];

  assert.equal((await settle("/runtime", program, ...words)).stderr, "");
  const { stdout } = await run(program, [...words, "/runtime/bin/node", "/main.ts"]);
  const [own, version, ...env] = stdout.trim().split("\n");
  assert.deepEqual([own, version], ["/runtime/bin/node", process.version]);
  // The shell that starts it adds two.
  assert.deepEqual(env.sort(), ["A=b", "PATH=/bin", "PWD=/", "SHLVL=1"]);

  rmSync(join(folder, "lib/ld.so"));
  const { code, stderr } = await settle("/runtime", program, ...words);
  assert.equal(code, 3);
  assert.match(stderr, /Node.js from control does not start: .*ld\.so.*; use an image or a host/);
});
