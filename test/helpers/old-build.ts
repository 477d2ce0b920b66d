import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/**
 * Bundles the programs of an older commit with the packages that are installed now; answers the folder
 * of the bundles, which lasts as long as the test. The clone must hold the commit: a shallow one may not.
 */
export function buildOf(t: Cleaner, commit: string): string {
  const folder = mkdtempSync(join(tmpdir(), "old-"));
  t.after(async () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  const source = join(folder, "source");
  mkdirSync(source);
  const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer: 64 * 2 ** 20 });
  execFileSync("tar", ["-x", "-C", source], { input: archive });
  symlinkSync(join(root, "node_modules"), join(source, "node_modules"));
  const bundles = join(folder, "bundles");
  execFileSync(process.execPath, [join(source, "bin/bundle.ts"), "--out", bundles]);
  return bundles;
}
