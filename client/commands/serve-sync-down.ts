import type { GivenInputOf } from "../../common/operation.ts";
import { serveOperations } from "../../contract/operations/serve.ts";
import type { World } from "../world.ts";
import { answerLogFolder } from "./log-folder.ts";

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
  await answerLogFolder(world, place, name, { service: name });
  return 0;
}
