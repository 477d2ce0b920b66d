/** A log that is copied while it grows. Jobs that run may be many, so there is little of it. */
export interface Growing {
  readonly taskId: string;
  readonly file: string;
  readonly clusterId: string;
  readonly jobId: number;
  /** Whether there may be more than the last read has found. */
  isBehind: boolean;
  /** Whether the copy is known to have all of it. */
  isWhole: boolean;
}

/** A copy that goes on by itself. */
export interface Work {
  readonly abort: AbortController;
  readonly done: Promise<void>;
  /** It takes whatever comes, until it is ended. */
  readonly isFollow: boolean;
  /** Those who need it. */
  users: number;
}

/** At most one copy of each log goes on at a time: one that begins has the one before end first. */
export function openWorks() {
  const works = new Map<Growing, Work>();

  async function end(log: Growing): Promise<void> {
    const work = works.get(log);
    work?.abort.abort();
    await work?.done.catch(() => {});
  }

  return {
    /** The one that goes on, unless it was told to end. */
    now(log: Growing): Work | undefined {
      const work = works.get(log);
      return work?.abort.signal.aborted ? undefined : work;
    },
    begin(log: Growing, isFollow: boolean, run: (signal: AbortSignal) => Promise<void>): Work {
      const before = end(log);
      const abort = new AbortController();
      const begun = before.then(() => {
        abort.signal.throwIfAborted();
        return run(abort.signal);
      });
      const done = begun.finally(() => {
        if (works.get(log) === work) works.delete(log);
      });
      // `whole` passes the error on; here it must only not count as unhandled.
      done.catch(() => {});
      const work = { abort, done, isFollow, users: 0 };
      works.set(log, work);
      return work;
    },
    end,
    async endAll() {
      await Promise.all([...works.keys()].map(end));
    },
  };
}
