import { createReadStream, readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { AppError, fail, isErrorType } from "../../../common/errors.ts";
import { smallFileBytes } from "../../../common/files.ts";
import { paced } from "../../../common/loop.ts";
import {
  type Content,
  type FetchedContent,
  FetchNews,
  fileOperations,
} from "../../../contract/files-api.ts";
import { linesOf, parseLine } from "../../../contract/frames.ts";
import { bytesText } from "../../../contract/sizes.ts";
import type { Agent } from "../../doors/agent.ts";
import { openSilence } from "../../doors/silence.ts";
import type { Load } from "./parcels.ts";

/** How long nothing may move. */
const silenceMs = 60_000;
const dayMs = 24 * 3_600_000;
const tellEveryMs = 5_000;
const linesAtOnce = 50;

/** One node on its way to have contents of a cargo. */
export interface Receiver {
  readonly agent: Agent;
  readonly rank: number;
  /** What the cargo is called. */
  readonly name: string;
  readonly tell: (line: string) => void;
  /** Something moved. */
  readonly heard: () => void;
  readonly signal: AbortSignal;
}

/** Brings contents to a node: streams them there, or has the node fetch them. Nothing of them is held. */
export async function bringContents(
  receiver: Receiver,
  { contents: { by, ...way } }: Load,
  contents: readonly Content[],
): Promise<void> {
  using silence = openSilence(silenceMs, receiver.signal);
  const tellMoved = openProgress(receiver, by === "node" ? "fetched by" : "sent to", contents);
  const moved = (bytes: number) => {
    silence.heard();
    receiver.heard();
    tellMoved(bytes);
  };
  const { agent } = receiver;
  if ("fileOf" in way) {
    const bytes = Readable.from(bytesOf(way.fileOf, contents, moved), { objectMode: false });
    const options = { signal: silence.signal, timeoutMs: dayMs, bytes };
    await agent.call(fileOperations.sendContents, {}, options);
    return;
  }
  if (!("sourceOf" in way)) return;
  const asked = Readable.from(linesFor(way.sourceOf, contents, silence.heard), {
    objectMode: false,
  });
  const { body } = await agent.open(fileOperations.fetchContents, {}, silence.signal, asked);
  await untilFetched(body, moved, silence.signal);
}

/** Each line is made when there is room for it: to sign the addresses of many objects takes long. */
async function* linesFor(
  sourceOf: (content: Content) => FetchedContent,
  contents: readonly Content[],
  heard: () => void,
): AsyncGenerator<string> {
  for await (const content of paced(contents, linesAtOnce)) {
    heard();
    yield `${JSON.stringify(sourceOf(content))}\n`;
  }
}

async function* bytesOf(
  fileOf: (content: Content) => string | Buffer,
  contents: readonly Content[],
  moved: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  let sent = 0;
  for (const content of contents) {
    yield Buffer.from(`${JSON.stringify(content)}\n`);
    const from = fileOf(content);
    for await (const chunk of piecesOf(from, content.size)) {
      yield chunk;
      sent += chunk.length;
      moved(sent);
    }
  }
}

function piecesOf(from: string | Buffer, size: number): AsyncIterable<Buffer> | Buffer[] {
  if (typeof from !== "string") return [from];
  return size > smallFileBytes ? createReadStream(from) : [readFileSync(from)];
}

/** Follows the news of a node that fetches; throws what went wrong there. */
async function untilFetched(
  body: Readable,
  moved: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const problem = await findProblem(body, moved).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new AppError("UnreachableError", away, {}, error);
  });
  signal.throwIfAborted();
  if (problem === undefined) fail("UnreachableError", away);
  if (problem === null) return;
  const { type, message } = problem;
  fail(isErrorType(type) ? type : "InternalError", message);
}

const away = "the agent went away while it fetched files";

/** What a node says went wrong, null where nothing did; undefined where it does not say. */
async function findProblem(body: Readable, moved: (bytes: number) => void) {
  for await (const line of linesOf(body)) {
    const news = parseLine(FetchNews, line);
    if (news === undefined) continue;
    if (!("bytes" in news)) return news.problem;
    moved(news.bytes);
  }
}

/** Tells how much has moved, now and then. */
function openProgress(
  { name, rank, tell }: Receiver,
  way: string,
  contents: readonly Content[],
): (bytes: number) => void {
  const all = bytesText(contents.reduce((sum, { size }) => sum + size, 0));
  let toldAt = performance.now();
  return (bytes) => {
    if (performance.now() - toldAt < tellEveryMs) return;
    toldAt = performance.now();
    tell(`${name}: ${bytesText(bytes)} of ${all} ${way} node ${rank}`);
  };
}
