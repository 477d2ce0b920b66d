import { createRequire, syncBuiltinESMExports } from "node:module";

/**
 * Simulated time. A task runs once everything before it has come to rest; time then jumps to the
 * next one. `setTimeout` and its like, which only the program under test uses, make such tasks too.
 */
export interface Clock {
  now(): number;
  /** Has the simulation itself do something after a while. */
  after(ms: number, run: () => void): void;
  /** Runs tasks until `isDone`; false where that takes longer than the limit. */
  until(isDone: () => boolean, limitMs: number): Promise<boolean>;
  /** Ends the program: none of its timers fires any more, and it makes no new ones. */
  kill(): void;
  /** Lets a new program make timers. */
  revive(): void;
  /** Tasks that have run so far. */
  count(): number;
}

interface Task {
  readonly at: number;
  readonly run: () => void;
  readonly isProgram: boolean;
  isCancelled: boolean;
}

/** Beginning of every simulation; the date means nothing. */
const epoch = Date.UTC(2026, 0, 1);
const require = createRequire(import.meta.url);
const realImmediate = setImmediate;
const RealDate = Date;

/** Opens simulated time at its beginning. */
export function openClock(): Clock {
  let tasks: Task[] = [];
  let now = epoch;
  let count = 0;
  let isAlive = true;

  function add(ms: number, run: () => void, isProgram: boolean): Task {
    const task = { at: now + Math.max(0, ms || 0), run, isProgram, isCancelled: false };
    let index = tasks.length;
    while (index > 0 && (tasks[index - 1] as Task).at > task.at) index -= 1;
    if (isAlive || !isProgram) tasks.splice(index, 0, task);
    return task;
  }

  /** Promises and ticks of the last task are all done when a real turn of the event loop is over. */
  const rest = () => new Promise<void>((resolve) => realImmediate(resolve));

  async function until(isDone: () => boolean, limitMs: number): Promise<boolean> {
    const end = now + limitMs;
    for (;;) {
      await rest();
      if (isDone()) return true;
      const [task] = tasks;
      if (task === undefined || task.at > end) return false;
      tasks.shift();
      if (task.isCancelled) continue;
      now = task.at;
      count += 1;
      task.run();
    }
  }

  install({ now: () => now, add: (ms, run) => add(ms, run, true) });
  return {
    now: () => now - epoch,
    after: (ms, run) => void add(ms, run, false),
    until,
    kill() {
      isAlive = false;
      tasks = tasks.filter(({ isProgram }) => !isProgram);
    },
    revive() {
      isAlive = true;
    },
    count: () => count,
  };
}

interface Time {
  now(): number;
  add(ms: number, run: () => void): Task;
}

/** Puts simulated time in the place of every clock and timer that the program knows. */
function install(time: Time): void {
  const later = (run: (...given: unknown[]) => void, ms: number, ...given: unknown[]) => {
    const task = time.add(ms, () => run(...given));
    return timerOf(() => task);
  };
  const soon = (run: (...given: unknown[]) => void, ...given: unknown[]) => later(run, 0, ...given);
  class SimulatedDate extends RealDate {
    constructor(...given: []) {
      super(...((given.length === 0 ? [time.now()] : given) as []));
    }
    static override now = time.now;
  }
  const repeated = (run: () => void, ms: number) => {
    let task: Task;
    const again = () => {
      task = time.add(ms, again);
      run();
    };
    task = time.add(ms, again);
    return timerOf(() => task);
  };
  Object.assign(globalThis, {
    Date: SimulatedDate,
    ...{ setTimeout: later, setInterval: repeated, setImmediate: soon },
    ...{ clearTimeout: clear, clearInterval: clear, clearImmediate: clear },
  });
  performance.now = () => time.now() - epoch;
  AbortSignal.timeout = (ms) => {
    const abort = new AbortController();
    time.add(ms, () => abort.abort(new DOMException("it took too long", "TimeoutError")));
    return abort.signal;
  };
  Object.assign(require("node:timers/promises"), {
    setTimeout: (ms: number, value: unknown, options = {}) => pause(time, ms, value, options),
    setImmediate: (value: unknown, options = {}) => pause(time, 0, value, options),
  });
  syncBuiltinESMExports();
}

interface Timer {
  ref(): Timer;
  unref(): Timer;
  cancel(): void;
}

function timerOf(task: () => Task): Timer {
  const timer: Timer = {
    ref: () => timer,
    unref: () => timer,
    cancel() {
      task().isCancelled = true;
    },
  };
  return timer;
}

const clear = (timer?: Timer | null) => timer?.cancel();

function pause<T>(time: Time, ms: number, value: T, { signal }: { signal?: AbortSignal }) {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const abort = () => {
    task.isCancelled = true;
    reject(new DOMException("The operation was aborted", "AbortError"));
  };
  const task = time.add(ms, () => {
    signal?.removeEventListener("abort", abort);
    resolve(value);
  });
  if (signal?.aborted) abort();
  else signal?.addEventListener("abort", abort, { once: true });
  return promise;
}
