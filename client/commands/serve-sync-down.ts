import { mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { basename, join } from "node:path";
import yauzl from "yauzl";
import type { GivenInputOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { serveOperations } from "../../contract/operations/serve.ts";
import { cannotWrite } from "../local-files.ts";
import { type LogFile, logFileForm } from "../output/files.ts";
import type { World } from "../world.ts";
import { answerJson } from "./answers.ts";
import { openFile } from "./sync-down.ts";

type Given = GivenInputOf<typeof serveOperations.downloadLogs>;

/** Has control gather logs of a service, writes each to a file of its own, and prints the file's name. */
export async function syncDownService(
  world: World,
  name: string,
  which: Pick<Given, "targets" | "replica_ids" | "tail">,
): Promise<number> {
  const client = await world.connect();
  const input = { service_name: name, local_dir: "", ...which };
  const place = await client.callAndGet(serveOperations.downloadLogs, input);
  const what = { folder_paths: [place], relative: "items" };
  const bytes = await client.open(clusterOperations.download, what);
  const scratch = join(tmpdir(), `${product.word}-logs-`);
  const aside = await mkdtemp(scratch).catch(cannotWrite(scratch));
  try {
    const zip = join(aside, "logs.zip");
    await writeInto(aside, zip, bytes);
    const folder = join(homedir(), `${product.word}_logs`, name);
    const written: LogFile[] = [];
    for await (const path of unpack(zip, folder)) {
      written.push({ path, cluster: null, job_id: null, service: name });
      if (!world.json) world.terminal.answer(path);
    }
    if (world.json) answerJson(world, {}, logFileForm, written);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return 0;
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
