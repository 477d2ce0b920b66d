import type { Sink } from "./follow.ts";

/** A sink that keeps a text back for as long as it may be the refusal that ends the request. */
export interface DeferredSink extends Sink {
  /** What is still kept back. */
  readonly text: string;
  /** Lets go of what is kept back: it was no refusal. */
  release(): Promise<void>;
}

/** Keeps the text back while, from its first byte, all that came of it `mayRefuse`. */
export function deferSink(sink: Sink, mayRefuse: (text: string) => boolean): DeferredSink {
  let held: Buffer = Buffer.alloc(0);
  let isReleased = false;

  async function release(): Promise<void> {
    isReleased = true;
    const rest = held;
    held = Buffer.alloc(0);
    if (rest.length > 0) await sink.write(rest);
  }

  return {
    get text() {
      return held.toString();
    },
    release,
    async write(bytes) {
      if (isReleased) return sink.write(bytes);
      held = Buffer.concat([held, bytes]);
      if (!mayRefuse(held.toString())) await release();
    },
    async control(code, message) {
      // A refusal has none, and what came before it has another.
      if (code === "instant") await release();
      return sink.control(code, message);
    },
    away: () => sink.away?.(),
  };
}
