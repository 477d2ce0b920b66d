import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import type { Metafile } from "esbuild";

/** A package of which code is in the bundles. */
export interface BundledPackage {
  /** Its folder, as the lock file names it: `node_modules/zod`. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly license: string;
}

const packageFolder = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;

/** The packages that the inputs of a build come from, by path. */
export function packagesOf(root: string, { inputs }: Metafile): BundledPackage[] {
  // The folder of packages may be a link, which the build follows.
  const packages = realpathSync(join(root, "node_modules"));
  const folders = Object.keys(inputs).flatMap((input) => {
    const path = join("node_modules", relative(packages, join(realpathSync(root), input)));
    return packageFolder.exec(path)?.[0] ?? [];
  });
  return [...new Set(folders)].sort().map((path) => {
    const { name, version, license, licenses } = readPackage(join(root, path));
    const [older] = licenses ?? [];
    return { path, name, version, license: license ?? older?.type ?? noLicense(path) };
  });
}

const readPackage = (folder: string) =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

function noLicense(path: string): never {
  throw new Error(`${path} names no license, so it cannot be shipped`);
}

/** The licenses of packages, as they have to accompany their code. */
export function licensesOf(root: string, packages: readonly BundledPackage[]): string {
  const texts = packages.map(({ path, name, version, license }) => {
    const folder = join(root, path);
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice)/i.test(file));
    const parts = files.map((file) => readFileSync(join(folder, file), "utf8").trim());
    const { author } = readPackage(folder);
    if (parts.length === 0) parts.push(`Author: ${author?.name ?? author ?? "not named"}`);
    return `${name} ${version} (${license})\n\n${parts.join("\n\n")}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}
