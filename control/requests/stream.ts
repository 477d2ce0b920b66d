import { existsSync } from "node:fs";
import { noMore, readGrowing, untilMore } from "../../common/growing-file.ts";
import { protocol } from "../../common/product.ts";
import type { Context } from "../context.ts";
import { controlLine } from "../wire/control-lines.ts";
import { findRequest } from "./find.ts";
import { droppedLine, isDropped } from "./passing.ts";
import { hasEnded, requestKey, type StoredRequest } from "./schema.ts";

/** Silence after which a stream says that it is still there. */
const heartbeatMs = 30_000;

export interface StreamOptions {
  /** Last lines only; 0 is everything. */
  tail: number;
  follow: boolean;
  /** `plain` and `html` leave out the lines that steer a client's spinner. */
  format: "auto" | "plain" | "html" | "console";
}

/** What a request prints, until it has ended and all is out. */
export async function* streamOf(
  ctx: Context,
  request: StoredRequest,
  { tail, follow, format }: StreamOptions,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const { id } = request;
  const file = ctx.requestLogs.fileOf(id);
  if (isDropped(request, ctx.now()) && !existsSync(file)) return yield Buffer.from(droppedLine);
  const more = untilMore(ctx.changes, requestKey(id), () => isOver(ctx, id), signal);
  const chunks = readGrowing(file, tail, follow ? more : noMore);
  if (format === "plain" || format === "html") yield* withoutControlLines(chunks);
  else yield* withHeartbeat(chunks);
}

async function isOver(ctx: Context, id: string): Promise<boolean> {
  const request = await findRequest(ctx, id);
  return request === undefined || hasEnded(request);
}

/** The chunks, with a control line that means nothing after each long silence. */
async function* withHeartbeat(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const beat = Buffer.from(controlLine("heartbeat"));
  let next = chunks.next();
  try {
    for (;;) {
      const { promise: silence, resolve } = Promise.withResolvers<"silence">();
      const timer = setTimeout(() => resolve("silence"), heartbeatMs);
      const result = await Promise.race([next, silence]).finally(() => clearTimeout(timer));
      if (result === "silence") {
        yield beat;
        continue;
      }
      if (result.done) return;
      yield result.value;
      next = chunks.next();
    }
  } finally {
    next.catch(() => {});
    await chunks.return(undefined);
  }
}

async function* withoutControlLines(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const begins = Buffer.from(`<${protocol.payloadTag}`);
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      const line = rest.subarray(0, end + 1);
      if (!line.subarray(0, begins.length).equals(begins)) yield line;
      rest = rest.subarray(end + 1);
    }
  }
  if (rest.length > 0) yield rest;
}
