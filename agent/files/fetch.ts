import { mkdir } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, fail, toAppError } from "../../common/errors.ts";
import { isNoRoom } from "../../common/files.ts";
import { waitMs } from "../../common/loop.ts";
import { openTurns, openTurnsByKey, type Turns, workThrough } from "../../common/turns.ts";
import { FetchedContent, type FetchNews } from "../../contract/files-api.ts";
import { linesOf, parseLine } from "../../contract/frames.ts";
import type { Agent } from "../context.ts";
import { refuseWhileLeaving } from "../lifecycles/lifecycles.ts";
import { openActivity } from "./activity.ts";
import { contentOf, folderOf, hasContent } from "./contents.ts";
import { openPartial, type Part, type Partial } from "./partial.ts";
import { factsOf, isEncrypted, openSource, PassingTrouble } from "./source.ts";

const newsEveryMs = 1_000;
const contentsAtOnce = 16;
const connectionsAtOnce = 8;
/** How long a source may be away or busy. */
const patienceMs = 5 * 60_000;
const firstWaitMs = 200;
const longestWaitMs = 60_000;

/** One call at a time: two would write the same files. */
const inTurn = openTurnsByKey<Agent>();

/** What is fetched for one call. */
interface Fetching {
  readonly agent: Agent;
  readonly connections: Turns;
  /** So many bytes came. */
  came(bytes: number): void;
}

/** Fetches the contents that a body lists; parts that an earlier call fetched are not fetched again. */
export async function* fetchContents(
  agent: Agent,
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<FetchNews> {
  refuseWhileLeaving(agent);
  const contents = await readContents(body);
  const moved = openActivity(agent);
  let bytes = 0;
  const came = (more: number) => {
    bytes += more;
    moved();
  };
  const fetching = { agent, connections: openTurns(connectionsAtOnce), came };
  const until = AbortSignal.any([signal, agent.stopping]);
  const ending = inTurn(agent, () => fetchAll(fetching, contents, until)).then(
    (): FetchNews => ({ problem: null }),
    (error: unknown): FetchNews => ({ problem: problemOf(agent, error, until) }),
  );
  for (;;) {
    const end = await Promise.race([ending, sleep(newsEveryMs, undefined, { ref: false })]);
    yield end ?? { bytes };
    if (end !== undefined) return;
  }
}

async function readContents(body: AsyncIterable<Uint8Array>): Promise<FetchedContent[]> {
  const contents: FetchedContent[] = [];
  for await (const line of linesOf(body))
    contents.push(
      parseLine(FetchedContent, line) ?? fail("ValueError", "a line is no content to fetch"),
    );
  return contents;
}

function problemOf({ log }: Agent, error: unknown, signal: AbortSignal) {
  const { type, message, cause } = isNoRoom(error)
    ? new AppError("RuntimeError", "the disk of the node is full; make room on it")
    : toAppError(error);
  if (type === "InternalError" && !signal.aborted)
    log.error({ error: cause ?? message }, "contents could not be fetched");
  return { type, message };
}

async function fetchAll(
  fetching: Fetching,
  contents: readonly FetchedContent[],
  signal: AbortSignal,
): Promise<void> {
  const { agent } = fetching;
  await mkdir(folderOf(agent), { recursive: true, mode: 0o700 });
  const isMissing = ({ sha256 }: FetchedContent) => !hasContent(agent, sha256);
  const fetchOne = (content: FetchedContent, until: AbortSignal) =>
    fetchContent(fetching, content, until);
  await workThrough(contents.filter(isMissing), contentsAtOnce, fetchOne, signal);
}

async function fetchContent(
  { agent, connections, came }: Fetching,
  content: FetchedContent,
  signal: AbortSignal,
): Promise<void> {
  await using partial = await openPartial(contentOf(agent, content.sha256), content);
  let { digest } = content;
  const seen = (res: IncomingMessage) => {
    // What the user has pinned is checked whatever its server says.
    if (digest?.algorithm === "md5" && isEncrypted(res)) digest = null;
  };
  const fetchPart = (part: Part, until: AbortSignal) =>
    connections(async () => {
      await persistently({ content, partial, came, seen }, part, until);
      await partial.complete(part);
    });
  await workThrough(partial.missing, connectionsAtOnce, fetchPart, signal);
  await partial.finish(digest);
}

/** One content on its way. */
interface Arriving {
  readonly content: FetchedContent;
  readonly partial: Partial;
  came(bytes: number): void;
  /** Told of each answer that has bytes of it. */
  seen(res: IncomingMessage): void;
}

/** Fetches a part, going on where it was after trouble that passes. */
async function persistently(
  { content, partial, came, seen }: Arriving,
  { offset, end }: Part,
  signal: AbortSignal,
): Promise<void> {
  let at = offset;
  let movedAt = performance.now();
  for (let failures = 0; at < end; failures += 1) {
    try {
      for await (const chunk of bytesFrom(content, { offset: at, end }, seen, signal)) {
        await partial.write(chunk, at);
        at += chunk.length;
        came(chunk.length);
        movedAt = performance.now();
        failures = 0;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof PassingTrouble)) throw error;
      if (performance.now() - movedAt > patienceMs)
        throw new AppError(
          "StorageError",
          `${error.message}; tried for ${patienceMs / 60_000} minutes`,
        );
      if (!content.hasRanges) at = offset;
      const waitsMs = Math.min(error.afterMs ?? waitMs(firstWaitMs, failures), longestWaitMs);
      await sleep(waitsMs, undefined, { signal });
    }
  }
}

/** Throws `ConflictError` when the source has another version by now, `PassingTrouble` when it breaks off. */
async function* bytesFrom(
  content: FetchedContent,
  { offset, end }: Part,
  seen: Arriving["seen"],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const res = await openSource(content, { offset, end }, signal);
  seen(res);
  const { size, version } = factsOf(res);
  const isWhole = res.statusCode === 200;
  const isVersion = content.version === null || version === content.version;
  const isSame = isVersion && (size ?? content.size) === content.size;
  if (!isSame || (isWhole && offset > 0)) {
    res.destroy();
    fail("ConflictError", `${content.name} changed while it was copied; try again`);
  }
  let left = end - offset;
  try {
    for await (const chunk of res as AsyncIterable<Buffer>) {
      yield chunk.subarray(0, left);
      left -= Math.min(left, chunk.length);
      if (left === 0) break;
    }
  } catch (error) {
    throw new PassingTrouble(`${content.name} broke off`, undefined, error);
  }
  if (left > 0) throw new PassingTrouble(`${content.name} broke off`);
}
