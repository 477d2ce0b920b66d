import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

/** Writes SHA256SUMS of the files of a folder, as `sha256sum --check` reads it. */
export async function writeSums(folder: string, names: readonly string[]): Promise<void> {
  let sums = "";
  for (const name of names) {
    const hash = createHash("sha256");
    await pipeline(createReadStream(join(folder, name)), hash);
    sums += `${hash.digest("hex")}  ${name}\n`;
  }
  await writeFile(join(folder, "SHA256SUMS"), sums);
}
