/**
 * Does work under a signal that aborts when `signal` does, and after so many milliseconds with a `TimeoutError`. Unlike
 * `AbortSignal.timeout`, it leaves no timer behind that makes an error for nobody.
 */
export async function limited<T>(
  ms: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const end = () => limit.abort(signal?.reason);
  const late = () => limit.abort(new DOMException(`no answer within ${ms} ms`, "TimeoutError"));
  const timer = setTimeout(late, ms);
  signal?.addEventListener("abort", end, { once: true });
  if (signal?.aborted) end();
  try {
    return await work(limit.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  }
}

/** Waits for work that goes on without us where a signal aborts; rejects then with its reason. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.throwIfAborted();
  signal.addEventListener("abort", abort);
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", abort));
}

/** All bytes of a stream; `refuse` throws for one with more than `mostBytes`. */
export async function readAll(
  stream: AsyncIterable<Uint8Array>,
  mostBytes: number,
  refuse: () => never,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > mostBytes) refuse();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
