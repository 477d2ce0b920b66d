import { startLoop, waitMs } from "../common/loop.ts";
import type { Context } from "./context.ts";

/** How the rows of a noun are brought from what is to what is wanted. */
export interface Reconciler {
  readonly name: string;
  /** How often rows are looked for that are due. */
  readonly everyMs: number;
  /** How many rows are worked on at a time; never one row twice. */
  readonly atOnce: number;
  due(ctx: Context): Promise<string[]>;
  /** Observe, plan, act: one pass, which may be repeated. */
  reconcile(ctx: Context, id: string, signal: AbortSignal): Promise<void>;
}

export interface Reconciling {
  /** Has a pass over the row begun soon; resolves when one that began after the call is over. */
  nudge(id: string): Promise<void>;
  stop(): Promise<void>;
}

const firstRetryMs = 500;

interface Row {
  running: boolean;
  failures: number;
  retry: NodeJS.Timeout | undefined;
  /** Those who wait for the next pass to be over. */
  waiting: (() => void)[];
}

/** Runs the passes of a noun: nudged rows at once, due rows every so often, failed rows later. */
export function startReconciler(ctx: Context, reconciler: Reconciler): Reconciling {
  const log = ctx.log.child({ reconciler: reconciler.name });
  const stopping = new AbortController();
  const rows = new Map<string, Row>();
  const queue: string[] = [];
  const passes = new Set<Promise<void>>();
  /** How many of the passes are over rows that failed before. */
  let retries = 0;

  function nudge(id: string): Promise<void> {
    if (stopping.signal.aborted) return Promise.resolve();
    const row = rows.get(id) ?? { running: false, failures: 0, retry: undefined, waiting: [] };
    rows.set(id, row);
    clearTimeout(row.retry);
    if (row.waiting.length === 0) queue.push(id);
    const { promise, resolve } = Promise.withResolvers<void>();
    row.waiting.push(resolve);
    take();
    return promise;
  }

  function take(): void {
    if (stopping.signal.aborted) return;
    for (let index = 0; index < queue.length && passes.size < reconciler.atOnce; ) {
      const id = queue[index] as string;
      const row = rows.get(id);
      if (row === undefined || row.running || isHeldBack(row)) {
        index += 1;
        continue;
      }
      queue.splice(index, 1);
      const pass = run(id, row).finally(() => passes.delete(pass));
      passes.add(pass);
    }
  }

  /** Rows that fail may take their time about it: half of the places is always for others. */
  const isHeldBack = ({ failures }: Row): boolean =>
    failures > 0 && retries >= Math.max(1, Math.floor(reconciler.atOnce / 2));

  async function run(id: string, row: Row): Promise<void> {
    const waiting = row.waiting.splice(0);
    const retry = Number(row.failures > 0);
    retries += retry;
    row.running = true;
    try {
      await reconciler.reconcile(ctx, id, stopping.signal);
      row.failures = 0;
    } catch (error) {
      row.failures += 1;
      if (!stopping.signal.aborted) log.warn({ err: error, id, failures: row.failures }, "failed");
    }
    row.running = false;
    retries -= retry;
    for (const resolve of waiting) resolve();
    if (row.waiting.length === 0) rest(id, row);
    setImmediate(take);
  }

  /** Forgets a row that is well; comes back to one that failed. */
  function rest(id: string, row: Row): void {
    if (row.failures === 0 || stopping.signal.aborted) return void rows.delete(id);
    row.retry = setTimeout(() => void nudge(id), waitMs(firstRetryMs, row.failures - 1));
    row.retry.unref();
  }

  const loop = startLoop(
    reconciler.everyMs,
    async () => {
      for (const id of await reconciler.due(ctx)) if (!rows.has(id)) void nudge(id);
    },
    (error) => log.warn({ err: error }, "due rows not found"),
  );
  ctx.nudges.set(reconciler.name, nudge);
  return {
    nudge,
    async stop() {
      stopping.abort();
      await loop.stop();
      for (const { retry } of rows.values()) clearTimeout(retry);
      await Promise.all(passes);
      for (const { waiting } of rows.values()) for (const resolve of waiting) resolve();
    },
  };
}

/** Has the reconciler of a noun look at a row now; resolves once it has. Rejects on abort. */
export function nudge(ctx: Context, noun: string, id: string, signal?: AbortSignal): Promise<void> {
  const looked = ctx.nudges.get(noun)?.(id) ?? Promise.resolve();
  return signal === undefined ? looked : unlessAborted(looked, signal);
}

async function unlessAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.throwIfAborted();
  signal.addEventListener("abort", abort);
  await Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", abort));
}
