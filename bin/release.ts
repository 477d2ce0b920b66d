import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { writeArchive } from "./release/archive.ts";
import { notesOf } from "./release/changelog.ts";
import { run } from "./release/command.ts";
import { commitRelease, tagRelease } from "./release/commit.ts";
import { sbomOf } from "./release/sbom.ts";
import { writeSums } from "./release/sums.ts";

const usage = `usage: npm run release -- [VERSION] [--dry-run] [--out FOLDER]

Commits VERSION (that of package.json when absent), builds what is published into release/, and tags the commit.
With --dry-run it only builds, the version that package.json has.`;

const root = join(import.meta.dirname, "..");
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    "dry-run": { type: "boolean", default: false },
    out: { type: "string", default: join(root, "release") },
    help: { type: "boolean", short: "h", default: false },
  },
});
if (values.help) console.log(usage);
else await release(positionals, values["dry-run"], values.out).catch(tell);

function tell(error: Error): void {
  console.error(`release: ${error.message}`);
  process.exitCode = 1;
}

async function release([wanted]: string[], isDryRun: boolean, out: string): Promise<void> {
  const current: string = (await readJson("package.json")).version;
  const version = isDryRun ? current : (wanted ?? current);
  if (!isDryRun) await commitRelease(root, version);
  await build(version, out);
  if (!isDryRun) tagRelease(root, version);
}

/** Writes all that is published into a folder. */
async function build(version: string, out: string): Promise<void> {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const fileOf = (name: string) => join(out, name);
  const [tgz, archive] = [`outrigger-${version}.tgz`, `outrigger-${version}-linux-x64.tar.zst`];
  const [sbom, notes] = [`outrigger-${version}.cdx.json`, "notes.md"];

  run("npm", ["pack", "--silent", "--pack-destination", out], root);
  await writeArchive(root, fileOf(tgz), fileOf(archive));
  const bom = sbomOf(await readJson("package-lock.json"), await readJson("dist/packages.json"));
  await writeFile(fileOf(sbom), `${JSON.stringify(bom, null, 2)}\n`);
  await writeFile(
    fileOf(notes),
    notesOf(await readFile(join(root, "CHANGELOG.md"), "utf8"), version),
  );
  await writeSums(out, [tgz, archive, sbom]);
  for (const name of [tgz, archive, sbom, notes, "SHA256SUMS"]) console.log(fileOf(name));
}

async function readJson(file: string) {
  return JSON.parse(await readFile(join(root, file), "utf8"));
}
