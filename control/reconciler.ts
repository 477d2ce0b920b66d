import { toAppError } from "../common/errors.ts";
import { unlessAborted } from "../common/limited.ts";
import { startLoop, waitMs } from "../common/loop.ts";
import { forgetAttempt, keepAttempt, listAttempts } from "./attempts.ts";
import type { Context, Doing, Passes } from "./context.ts";
import { openLanes } from "./lanes.ts";

/** How the rows of a noun are brought from what is to what is wanted. */
export interface Reconciler {
  readonly name: string;
  /** How often rows are looked for that are due. */
  readonly everyMs: number;
  /** How many passes there are at a time; never two over one row. */
  readonly atOnce: number;
  due(ctx: Context): Promise<string[]>;
  /** Observe, plan, act: one pass, which may be repeated. What takes long it has done `aside`. */
  reconcile(ctx: Context, id: string, signal: AbortSignal, aside: Aside): Promise<void>;
}

/** What a pass decided on and that takes long. */
export interface Step<T> {
  /** What it does, for people: `creates node 0`. */
  readonly what: string;
  /** Steps of one lane share a limit. */
  readonly lane: string;
  /** Whose share of the lane it takes. */
  readonly user: string;
  /** Whether the step is for a wish that was replaced; asked when the row is woken for a new one, and in every round. */
  isObsolete(): Promise<boolean>;
  run(signal: AbortSignal): Promise<T>;
}

/**
 * Has a step done beside the passes, whose places are for others meanwhile. Rejects with `obsolete`
 * where it was broken off because superseded by a newer request.
 */
export type Aside = <T>(step: Step<T>) => Promise<T>;

/** Why a step was broken off: the next look finds what is wanted instead. */
export const obsolete = new Error("superseded by a newer request");

export interface Reconciling extends Passes {
  stop(): Promise<void>;
}

const firstRetryMs = 500;
/** Of each provider's work at a time; the rest waits its turn. */
const stepsOfLane = 64;

interface Row {
  running: boolean;
  /** Whether a wish was written since the last pass began. */
  hasNewWish: boolean;
  failures: number;
  /** How long it rests after a failure. */
  waitMs: number;
  retry: NodeJS.Timeout | undefined;
  /** Those who wait for the next pass to be over. */
  waiting: (() => void)[];
  doing?: (Omit<Doing, "forMs"> & { since: number }) | undefined;
  /** Looks whether the step that is under way is still wanted. */
  recheck?: (() => void) | undefined;
}

const aRow = (): Row => ({
  ...{ running: false, hasNewWish: false, failures: 0, waitMs: 0 },
  ...{ retry: undefined, waiting: [] },
});

/** Runs the passes of a noun: nudged rows at once, due rows every so often, failed rows later. */
export function startReconciler(ctx: Context, reconciler: Reconciler): Reconciling {
  const { name } = reconciler;
  const log = ctx.log.child({ reconciler: name });
  const stopping = new AbortController();
  const rows = new Map<string, Row>();
  /** Rows to look at whose pass is not under way. */
  const queue: string[] = [];
  const steps = new Set<AbortController>();
  const passes = new Set<Promise<void>>();
  const lanes = openLanes(stepsOfLane);
  /** Passes that have a place, and those whose step is over and that wait for one again. */
  let active = 0;
  const resuming: (() => void)[] = [];
  /** How many of the passes are over rows that failed before. */
  let retries = 0;

  function nudge(id: string, hasNewWish = false): Promise<void> {
    if (stopping.signal.aborted) return Promise.resolve();
    const row = rows.get(id) ?? aRow();
    rows.set(id, row);
    clearTimeout(row.retry);
    row.hasNewWish ||= hasNewWish;
    if (hasNewWish) row.recheck?.();
    if (row.waiting.length === 0 && !row.running) queue.push(id);
    const { promise, resolve } = Promise.withResolvers<void>();
    row.waiting.push(resolve);
    take();
    return promise;
  }

  function take(): void {
    for (; resuming.length > 0 && active < reconciler.atOnce; active += 1) resuming.shift()?.();
    if (stopping.signal.aborted) return;
    for (let index = 0; index < queue.length && active < reconciler.atOnce; ) {
      const id = queue[index] as string;
      const row = rows.get(id);
      if (row === undefined || isHeldBack(row)) {
        index += 1;
        continue;
      }
      queue.splice(index, 1);
      active += 1;
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
    row.hasNewWish = false;
    const outcome = await reconciler
      .reconcile(ctx, id, stopping.signal, (step) => beside(row, step))
      .then(
        () => undefined,
        (error: unknown) => ({ error }),
      );
    if (!stopping.signal.aborted) await keep(id, row, outcome);
    row.running = false;
    active -= 1;
    retries -= retry;
    for (const resolve of waiting) resolve();
    if (row.waiting.length === 0) rest(id, row);
    else queue.push(id);
    setImmediate(take);
  }

  /** Notes how a pass went; a row that is well is only written about where it was not before. */
  async function keep(id: string, row: Row, failed: { error: unknown } | undefined): Promise<void> {
    const before = row.failures;
    row.failures = failed === undefined ? 0 : before + 1;
    row.waitMs = waitMs(firstRetryMs, before);
    if (failed !== undefined) log.warn({ err: failed.error, id, failures: row.failures }, "failed");
    if (row.failures + before === 0) return;
    const at = ctx.now().getTime();
    const { failures } = row;
    await ctx
      .batch((tx) =>
        failed === undefined
          ? forgetAttempt(tx, name, id)
          : keepAttempt(tx, name, {
              ...{ id, failures, reason: toAppError(failed.error).message },
              ...{ failedAt: at, dueAt: at + row.waitMs },
            }),
      )
      .catch((err: unknown) => log.warn({ err, id }, "attempt not kept"));
  }

  /** Rows whose last pass failed before this process began: they go on waiting. */
  async function restore(): Promise<void> {
    const at = ctx.now().getTime();
    for (const { id, failures, dueAt } of await listAttempts(ctx.db, name)) {
      // The clock may have been set meanwhile.
      const leftMs = Math.min(Math.max(0, dueAt - at), waitMs(firstRetryMs, failures - 1));
      if (rows.has(id) || stopping.signal.aborted) continue;
      const resting = { ...aRow(), failures, waitMs: leftMs };
      rows.set(id, resting);
      rest(id, resting);
    }
  }

  async function beside<T>(row: Row, step: Step<T>): Promise<T> {
    const ending = new AbortController();
    steps.add(ending);
    if (stopping.signal.aborted) ending.abort(stopping.signal.reason);
    const retry = Number(row.failures > 0);
    row.recheck = () => void recheck(step, ending);
    // The wish may have come between two steps.
    if (row.hasNewWish) row.recheck();
    const { what, lane } = step;
    row.doing = { what, lane, since: performance.now(), isWaiting: true };
    const begin = () => {
      row.doing = { what, lane, since: performance.now(), isWaiting: false };
      return step.run(ending.signal);
    };
    active -= 1;
    retries -= retry;
    take();
    try {
      return await lanes.run(lane, step.user, begin, ending.signal);
    } catch (error) {
      throw ending.signal.reason === obsolete ? obsolete : error;
    } finally {
      steps.delete(ending);
      row.recheck = undefined;
      row.doing = undefined;
      await new Promise<void>((resume) => {
        resuming.push(resume);
        take();
      });
      retries += retry;
    }
  }

  async function recheck({ isObsolete }: Step<unknown>, ending: AbortController): Promise<void> {
    const isOver = await isObsolete().catch(() => false);
    if (isOver) ending.abort(obsolete);
  }

  /** Forgets a row that is well; comes back to one that failed. */
  function rest(id: string, row: Row): void {
    if (row.failures === 0 || stopping.signal.aborted) return void rows.delete(id);
    row.retry = setTimeout(() => void nudge(id), row.waitMs);
    row.retry.unref();
  }

  const restored = restore().catch((err: unknown) => log.warn({ err }, "attempts not read"));
  const loop = startLoop(
    reconciler.everyMs,
    async () => {
      await restored;
      // Whoever has nothing to write learns only here that another process has taken over.
      await ctx.lease.check(ctx.db);
      for (const id of await reconciler.due(ctx)) {
        rows.get(id)?.recheck?.();
        if (!rows.has(id)) void nudge(id);
      }
    },
    (error) => log.warn({ err: error }, "query for due rows failed"),
  );
  function doing(id: string): Doing | undefined {
    const now = rows.get(id)?.doing;
    return now && { ...now, forMs: performance.now() - now.since };
  }

  ctx.reconciling.set(name, { nudge, doing });
  return {
    nudge,
    doing,
    async stop() {
      stopping.abort();
      for (const step of steps) step.abort(stopping.signal.reason);
      await loop.stop();
      for (const { retry } of rows.values()) clearTimeout(retry);
      await Promise.all(passes);
      for (const { waiting } of rows.values()) for (const resolve of waiting) resolve();
    },
  };
}

/** Has the reconciler of a noun look at a row now; resolves once it has. Rejects on abort. */
export function nudge(ctx: Context, noun: string, id: string, signal?: AbortSignal): Promise<void> {
  const looked = ctx.reconciling.get(noun)?.nudge(id) ?? Promise.resolve();
  return signal === undefined ? looked : unlessAborted(looked, signal);
}

/** As `nudge`, for a row that a wish was just written of: a step for another wish is broken off. */
export function wakeForWish(ctx: Context, noun: string, id: string): void {
  void ctx.reconciling.get(noun)?.nudge(id, true);
}
