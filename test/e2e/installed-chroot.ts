import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { archiveName, buildRelease, run, unpackArchive, whyNoArchive } from "./release.ts";

/** The folder of a Debian that was made before, such as by `debootstrap --variant=minbase`; otherwise one is made. */
const { CHROOT, DEBIAN = "bookworm" } = process.env;
const canMakeRoot = process.getuid?.() === 0 && spawnSync("which", ["debootstrap"]).status === 0;

/** Runs in namespaces of its own, so that nothing of it is left; the job's log is what it prints. */
const inNewRoot = `
set -eu
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
exec chroot "$1" /usr/bin/env -i HOME="/opt/$2/home" PATH=/usr/bin:/bin OUTRIGGER="/opt/$2" sh -c '
set -eu
export PATH="$OUTRIGGER/bin:$PATH"
mkdir "$HOME"; cd /
outrigger doctor >&2
export OUTRIGGER_ENDPOINT="$(outrigger api start --port 0)"
outrigger launch -y -c hello "$OUTRIGGER/examples/hello.yaml"
outrigger down -y hello
outrigger api stop'`;

test("the archive runs a job in a root with nothing but Debian's smallest system", {
  skip: whyNoArchive || (!CHROOT && !canMakeRoot && "needs root and debootstrap, or CHROOT"),
  timeout: 900_000,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "o-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const root = CHROOT ?? join(folder, "root");
  if (CHROOT === undefined) await run("debootstrap", ["--variant=minbase", DEBIAN, root]);
  await mkdir(join(root, "opt"), { recursive: true });
  const place = await unpackArchive(await buildRelease(folder), join(root, "opt"));
  t.after(() => rm(place, { recursive: true, force: true }));

  const words = ["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", inNewRoot, "sh"];
  const { stdout } = await run("unshare", [...words, root, archiveName]);

  assert.match(stdout, /^Hello, world, from rank 0 of 1\.$/m);
});
