import { execFile } from "node:child_process";
import { lstat, readdir, readFile, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { product } from "../../common/product.ts";
import { exportsFolder } from "../../contract/files-api.ts";

/** What a node has outside of its folder goes with it: exports that it mounted, and links that it made. */
export async function removeTraces(home: string): Promise<void> {
  const agent = join(home, `.${product.word}`, "agent");
  for (const name of await namesIn(join(agent, "exports"))) {
    const folder = join(exportsFolder, name);
    await promisify(execFile)("umount", ["-l", folder]).catch(() => {});
    await rmdir(folder).catch(() => {});
  }
  const placed = join(agent, "files", "placed");
  for (const name of await namesIn(placed))
    if (name.endsWith(".paths")) await removeLinks(join(placed, name));
}

/** Files stay, as others may use them by now. */
async function removeLinks(list: string): Promise<void> {
  for (const path of (await readFile(list, "utf8")).split("\0")) {
    const stats = path === "" ? undefined : await lstat(path).catch(() => undefined);
    if (stats?.isSymbolicLink()) await unlink(path).catch(() => {});
  }
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
