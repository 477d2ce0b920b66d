/** A copy that goes on by itself. */
interface Work {
  readonly abort: AbortController;
  readonly done: Promise<void>;
  /** It takes whatever comes, until it is ended. */
  readonly isFollow: boolean;
  /** Those who need it. */
  users: number;
}

type Run = (signal: AbortSignal) => Promise<void>;

/** At most one copy to each file goes on at a time: one that begins has the one before end first. */
export function openWorks() {
  const works = new Map<string, Work>();

  /** The one that goes on, unless it was told to end. */
  function now(file: string): Work | undefined {
    const work = works.get(file);
    return work?.abort.signal.aborted ? undefined : work;
  }

  async function end(file: string): Promise<void> {
    const work = works.get(file);
    work?.abort.abort();
    await work?.done.catch(() => {});
  }

  function begin(file: string, isFollow: boolean, run: Run): Work {
    const before = end(file);
    const abort = new AbortController();
    const begun = before.then(() => {
      abort.signal.throwIfAborted();
      return run(abort.signal);
    });
    const done = begun.finally(() => {
      if (works.get(file) === work) works.delete(file);
    });
    // `whole` passes the error on; here it must only not count as unhandled.
    done.catch(() => {});
    const work = { abort, done, isFollow, users: 0 };
    works.set(file, work);
    return work;
  }

  return {
    /** Begins a copy to the present end, unless one goes on. */
    read(file: string, run: Run): void {
      if (now(file) === undefined) begin(file, false, run);
    },
    /** Joins the copy that takes whatever comes, or begins it; `left` is called once it was ended for want of users. */
    follow(file: string, run: Run, left = () => {}): Disposable {
      const present = now(file);
      const work = present?.isFollow ? present : begin(file, true, run);
      work.users += 1;
      return {
        [Symbol.dispose]() {
          work.users -= 1;
          if (work.users > 0 || now(file) !== work) return;
          work.abort.abort();
          left();
        },
      };
    },
    /** Begins a copy that others may join, and no leave of theirs ends; resolves when it is done. */
    whole(file: string, run: Run): Promise<void> {
      const work = begin(file, true, run);
      work.users += 1;
      return work.done;
    },
    end,
    async endAll() {
      await Promise.all([...works.keys()].map(end));
    },
  };
}
