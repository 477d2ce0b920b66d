import { AppError, fail } from "../../common/errors.ts";
import type { GivenInputOf } from "../../common/operation.ts";
import { serveOperations } from "../../contract/operations/serve.ts";
import type { Command, OptionsOf } from "../catalog.ts";
import { deferSink } from "../deferred-sink.ts";
import { type LogChoice, openLogSink } from "../log-lines.ts";
import type { World } from "../world.ts";
import { answerLogFolder } from "./log-folder.ts";
import { showMerged } from "./serve-logs-merged.ts";

/** A part of a service that has a log. */
interface Part {
  readonly target: "controller" | "load_balancer" | "replica";
  readonly replica_id: number | null;
}

/** `outrigger serve logs`. */
export const serveLogs: Command<"serve logs"> = async (world, [name = "", ...words], options) => {
  const parts = partsOf(words, options);
  const { follow = true, tail = null, syncDown, grep, timestamps = false } = options;
  const { since = null } = options;
  const isTimed = since !== null || timestamps;
  if (isTimed && (syncDown || parts.some(({ target }) => target !== "replica")))
    fail("UsageError", "--since and --timestamps are for the logs of replicas");
  if (syncDown) return writeLogs(world, name, parts, tail);
  const [part, ...others] = parts;
  if (part === undefined) return showMerged(world, name, { follow, tail, grep, since, timestamps });
  if (others.length > 0)
    fail("UsageError", "name one part, or none for every replica; several only with -s");
  const input = { service_name: name, ...part, follow, tail, since };
  return showLog(world, input, { grep, timestamps });
};

const longestRefusal = 4_096;

/** Of a log that is not followed, why there is none is its text, too: that is told once. */
async function showLog(
  world: World,
  input: GivenInputOf<typeof serveOperations.logs>,
  choice: Pick<LogChoice, "grep" | "timestamps">,
): Promise<number> {
  const client = await world.connect();
  const timestamps = choice.timestamps || world.json;
  const mayRefuse = (text: string) => !input.follow && text.length <= longestRefusal;
  const of = { service: input.service_name, replica: input.replica_id ?? null };
  const lines = openLogSink(world, { ...choice, of });
  const sink = deferSink(lines, mayRefuse);
  try {
    const code = await client.logs(serveOperations.logs, { ...input, timestamps }, sink);
    await sink.release();
    await lines.end();
    return code;
  } catch (error) {
    const isRefusal = error instanceof AppError && sink.text === `${error.message}\n`;
    if (!isRefusal) await sink.release();
    throw error;
  }
}

function partsOf(
  words: readonly string[],
  { controller, loadBalancer }: OptionsOf<"serve logs">,
): Part[] {
  const odd = words.find((word) => !/^\d+$/.test(word));
  if (odd !== undefined) fail("UsageError", `${odd} is not a replica's id`);
  return [
    ...(controller ? [{ target: "controller", replica_id: null } as const] : []),
    ...(loadBalancer ? [{ target: "load_balancer", replica_id: null } as const] : []),
    ...words.map((word) => ({ target: "replica", replica_id: Number(word) }) as const),
  ];
}

/** Has control gather logs of a service, writes each to a file of its own, and prints the file's name. */
async function writeLogs(
  world: World,
  name: string,
  parts: readonly Part[],
  tail: number | null,
): Promise<number> {
  const client = await world.connect();
  const place = await client.callAndGet(serveOperations.downloadLogs, {
    service_name: name,
    local_dir: "",
    // No part is every part.
    targets: [...new Set(parts.map(({ target }) => target))],
    replica_ids: parts.flatMap(({ replica_id: id }) => id ?? []),
    tail,
  });
  await answerLogFolder(world, place, name, { service: name });
  return 0;
}
