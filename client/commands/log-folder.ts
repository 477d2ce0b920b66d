import { mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { basename, join } from "node:path";
import yauzl from "yauzl";
import { product } from "../../common/product.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { cannotWrite } from "../local-files.ts";
import { type LogFile, logFileForm, logFileOfNothing } from "../output/files.ts";
import type { World } from "../world.ts";
import { answerJson } from "./answers.ts";
import { openFile } from "./sync-down.ts";

/**
 * Fetches the logs that control gathered in a place, writes each to a file of its own in a folder below the
 * user's logs, and prints the names of these files.
 */
export async function answerLogFolder(
  world: World,
  place: string,
  name: string,
  of: Pick<LogFile, "service"> | Pick<LogFile, "managed_job">,
): Promise<void> {
  const client = await world.connect();
  const what = { folder_paths: [place], relative: "items" as const };
  const bytes = await client.open(clusterOperations.download, what);
  const scratch = join(tmpdir(), `${product.word}-logs-`);
  const aside = await mkdtemp(scratch).catch(cannotWrite(scratch));
  const written: LogFile[] = [];
  try {
    const zip = join(aside, "logs.zip");
    await writeInto(aside, zip, bytes);
    for await (const path of unpack(zip, join(homedir(), `${product.word}_logs`, name))) {
      written.push({ ...logFileOfNothing, ...of, path });
      if (!world.json) world.terminal.answer(path);
    }
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  if (world.json) answerJson(world, {}, logFileForm, written);
}

/** Writes the files of a zip into one folder; their names, as they come. */
async function* unpack(archive: string, folder: string): AsyncGenerator<string> {
  const zip = await yauzl.openPromise(archive, { strictFileNames: true });
  try {
    for await (const member of zip.eachEntry()) {
      if (member.fileName.endsWith("/")) continue;
      const file = join(folder, basename(member.fileName));
      await writeInto(folder, file, await zip.openReadStreamPromise(member));
      yield file;
    }
  } finally {
    zip.close();
  }
}

async function writeInto(folder: string, file: string, bytes: AsyncIterable<Uint8Array>) {
  const out = await openFile(folder, file);
  try {
    for await (const some of bytes) await out.write(some);
  } finally {
    await out.close();
  }
}
