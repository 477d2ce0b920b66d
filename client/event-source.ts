import { AppError } from "../common/errors.ts";

/** A part of `text/event-stream`: where the stream is, and what happened there, if anything. */
export interface StreamedEvent {
  readonly id: string | undefined;
  readonly data: string | undefined;
}

/** Far more characters than an event has. */
const longestEvent = 16 * 1024 * 1024;

/** Reads server-sent events, one line of data each, as control sends them. */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<StreamedEvent> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
    rest = blocks.pop() ?? "";
    if (rest.length > longestEvent)
      throw new AppError("RuntimeError", "control sent an event without an end");
    for (const block of blocks) yield { id: field(block, "id"), data: field(block, "data") };
  }
}

const field = (block: string, name: string): string | undefined =>
  block
    .split("\n")
    .find((line) => line.startsWith(`${name}: `))
    ?.slice(name.length + 2);
