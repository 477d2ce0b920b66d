import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

const kernel = "/usr/bin/linux.uml";
const programs = [kernel, "/sbin/mount.nfs", "/usr/sbin/rpc.nfsd", "/sbin/modprobe"];
const lacking = programs.filter((path) => !existsSync(path));
/** No test can count on a kernel that has NFS, so they bring one. */
const skip =
  lacking.length > 0 && `${lacking} missing (user-mode-linux, nfs-kernel-server and kmod)`;
const mostMs = 240_000;

test("volumes of a real NFS server, in a machine whose kernel has NFS", { skip }, async (t) => {
  const home = mkdtempSync(join(tmpdir(), "nfs-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const inside = join(import.meta.dirname, "exports-inside.ts");
  const words = [
    ...["mem=1G", "rootfstype=hostfs", "rootflags=/", "ro", "quiet"],
    ...["con=null", "con0=fd:0,fd:1", `uml_dir=${home}/`],
    `init=${join(import.meta.dirname, "../../fixtures/nfs-machine")}`,
    ...[`NODE=${process.execPath}`, `INSIDE=${inside}`],
  ];
  const env = { HOME: home, TMPDIR: existsSync("/dev/shm") ? "/dev/shm" : home, PATH: "/usr/bin" };

  const machine = promisify(execFile)(kernel, words, { env, timeout: mostMs });
  machine.child.stdin?.end();
  const { stdout } = await machine;

  assert.match(stdout, /^exit code 0\r?$/m, stdout);
});
