import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeRoot, type TestEngine } from "./engines.ts";

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

const root = join(import.meta.dirname, "../..");
const base = "localhost/lab/base:1";

/** Builds the image of control from this checkout, as users do; its name. What a build would fetch is not needed to start. */
export async function buildControlImage(t: Cleaner, run: TestEngine["run"]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "image-"));
  t.after(async () => rmSync(folder, { recursive: true, force: true }));
  const programs = {
    "/usr/local/bin/node": process.execPath,
    "/usr/local/bin/apt-get": "/bin/true",
    "/usr/local/bin/install": "/usr/bin/install",
  };
  await run("import", makeRoot(folder, programs), base);
  execFileSync(process.execPath, ["bin/bundle.ts", "--out", join(folder, "dist")], { cwd: root });
  for (const file of ["bin/outrigger", "package.json"])
    cpSync(join(root, file), join(folder, file));
  const image = "localhost/lab/control:1";
  const words = [`--build-arg=BASE=${base}`, `--tag=${image}`, folder];
  await run("build", `--file=${join(root, "deploy/Containerfile")}`, ...words);
  return image;
}
