import { prefixLines } from "../../common/prefix-lines.ts";

/** A log among several, and what stands before each of its lines. */
export interface NamedLog {
  readonly prefix: string;
  readonly chunks: AsyncGenerator<Buffer>;
}

/** A line that is longer is cut in two, so that no log holds more of it. */
const lineAtMost = 65_536;
const newline = 10;
const nothing = Buffer.alloc(0);

/**
 * The lines of several logs as they come, each behind its prefix. A log is read on only after what was read of
 * it was taken. Throws what one of them throws; all are closed at the end.
 */
export async function* sideBySide(logs: readonly NamedLog[]): AsyncGenerator<Buffer> {
  const ready: { readonly lines: Buffer; readonly taken: () => void }[] = [];
  let wake = () => {};
  let open = logs.length;
  let failure: { readonly error: unknown } | undefined;

  async function pump({ prefix, chunks }: NamedLog): Promise<void> {
    for await (const lines of wholeLines(chunks))
      await new Promise<void>((taken) => {
        ready.push({ lines: prefixLines(lines, prefix), taken });
        wake();
      });
  }

  for (const log of logs)
    void pump(log)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => {
        open -= 1;
        wake();
      });
  try {
    while (open > 0 || ready.length > 0) {
      const next = ready.shift();
      if (next !== undefined) {
        yield next.lines;
        next.taken();
      } else if (failure !== undefined) throw failure.error;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
    if (failure !== undefined) throw failure.error;
  } finally {
    for (const { taken } of ready) taken();
    for (const { chunks } of logs) void chunks.return(undefined).catch(() => {});
  }
}

/** The same bytes in chunks that end with a line, unless a line is too long or the log ends. */
async function* wholeLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let kept: Buffer = nothing;
  for await (const chunk of chunks) {
    const bytes = kept.length === 0 ? chunk : Buffer.concat([kept, chunk]);
    const end = bytes.length > lineAtMost ? bytes.length : bytes.lastIndexOf(newline) + 1;
    kept = Buffer.from(bytes.subarray(end));
    if (end > 0) yield bytes.subarray(0, end);
  }
  if (kept.length > 0) yield kept;
}
