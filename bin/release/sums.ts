import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileDigestOf } from "../../common/files.ts";

/** Writes SHA256SUMS of the files of a folder, as `sha256sum --check` reads it. */
export async function writeSums(folder: string, names: readonly string[]): Promise<void> {
  let sums = "";
  for (const name of names) sums += `${await fileDigestOf(join(folder, name))}  ${name}\n`;
  await writeFile(join(folder, "SHA256SUMS"), sums);
}
