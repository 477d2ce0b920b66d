import { mkdir, open } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { product } from "../../common/product.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { cannotWrite } from "../local-files.ts";
import { type LogFile, logFileForm, logFileOfNothing } from "../output/files.ts";
import type { World } from "../world.ts";
import { answerJson } from "./answers.ts";

/** Writes the log of each job to a file of its own and prints the file's name, all of them at the end as JSON. */
export async function syncDown(
  world: World,
  cluster: string,
  jobIds: readonly number[],
): Promise<number> {
  const client = await world.connect();
  const ids = jobIds.length > 0 ? jobIds : await allJobIds(world, cluster);
  const folder = join(homedir(), `${product.word}_logs`, cluster);
  const written: LogFile[] = [];
  for (const id of ids) {
    const file = join(folder, `job-${id}.log`);
    const input = { cluster_name: cluster, job_id: id, follow: false };
    const out = await openFile(folder, file);
    const sink = { write: out.write, control: () => {} };
    await client.logs(clusterOperations.logs, input, sink).finally(out.close);
    written.push({ ...logFileOfNothing, path: file, cluster, job_id: id });
    if (!world.json) world.terminal.answer(file);
  }
  if (world.json) answerJson(world, {}, logFileForm, written);
  if (ids.length === 0) world.terminal.note(`No jobs on ${cluster}.`);
  return 0;
}

/** A new file whose writes resolve once the system has them; each failure names the file. */
export async function openFile(folder: string, file: string) {
  const named = cannotWrite(file);
  await mkdir(folder, { recursive: true }).catch(named);
  const out = await open(file, "w").catch(named);
  return {
    write: (bytes: Uint8Array): Promise<void> => out.writeFile(bytes).catch(named),
    close: (): Promise<void> => out.close().catch(named),
  };
}

async function allJobIds(world: World, cluster: string): Promise<number[]> {
  const client = await world.connect();
  const input = { cluster_name: cluster, all_users: true };
  const jobs = await client.callAndGet(clusterOperations.queue, input);
  return jobs.map(({ job_id }) => job_id);
}
