import { execFile } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { product } from "../../common/product.ts";

export const run = promisify(execFile);
export const archiveName = `outrigger-${product.version}-linux-x64`;
export const whyNoArchive: string | false =
  (process.platform !== "linux" || process.arch !== "x64") && "the archive is for Linux on x64";

const root = join(import.meta.dirname, "../..");
const unneeded = new Set([".git", "node_modules", "dist", "release", "test", "coverage"]);

/**
 * Builds what a release has below a folder, and returns where. It is built in a copy of this checkout, because
 * packing bundles into `dist`, from which other tests run.
 */
export async function buildRelease(folder: string): Promise<string> {
  const checkout = join(folder, "checkout");
  const released = join(folder, "release");
  mkdirSync(checkout);
  cpSync(root, checkout, {
    recursive: true,
    filter: (from) => from === root || !unneeded.has(from.slice(root.length + 1)),
  });
  symlinkSync(join(root, "node_modules"), join(checkout, "node_modules"));
  const env = { HOME: folder, PATH: `${join(process.execPath, "..")}:${process.env["PATH"]}` };
  const words = ["run", "--silent", "release", "--", "--dry-run", "--out", released];
  await run("npm", words, { cwd: checkout, env });
  return released;
}

/** Unpacks the archive of a release into a folder, and returns where its own folder is. */
export async function unpackArchive(released: string, into: string): Promise<string> {
  await run("tar", ["-C", into, "--zstd", "-xf", join(released, `${archiveName}.tar.zst`)]);
  return join(into, archiveName);
}
