import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { fileDigestOf } from "../../common/files.ts";
import type { Entry } from "../../contract/files-api.ts";

/** What lies below a folder, links as links; a folder comes before what is in it. */
export async function listTree(root: string, path = ""): Promise<Entry[]> {
  const entries: Entry[] = [{ kind: "folder", path }];
  for (const name of (await readdir(join(root, path))).toSorted()) {
    const below = path === "" ? name : `${path}/${name}`;
    const place = join(root, below);
    const stats = await lstat(place);
    if (stats.isDirectory()) entries.push(...(await listTree(root, below)));
    else if (stats.isSymbolicLink())
      entries.push({ kind: "link", path: below, target: await readlink(place) });
    else if (stats.isFile())
      entries.push({
        ...{ kind: "file", path: below, size: stats.size, mode: stats.mode & 0o777 },
        sha256: await fileDigestOf(place),
      });
  }
  return entries;
}
