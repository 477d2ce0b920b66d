import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire, syncBuiltinESMExports } from "node:module";

/**
 * Simulated time. A task runs once everything before it has come to rest; time then jumps to the
 * next one. `setTimeout` and its like, which only the program under test uses, make such tasks too.
 */
export interface Clock {
  now(): number;
  /** Has something done after a while; by the world, which neither a crash nor a freeze holds up, if not said. */
  after(ms: number, run: () => void, by?: Doer): void;
  /** Has what the world tells a process come there: at once, or when the process is not frozen any more. */
  tell(run: () => void, process?: Process): void;
  /** The process whose code this is; the newest one where it is none's. */
  process(): Process;
  /** The process that was begun last. */
  newest(): Process;
  /** Does something as a process: the timers that come of it are its own. */
  within<T>(process: Process, run: () => T): T;
  /** Sets the clock that people read, of control or of the nodes, forward or back. */
  step(whose: WallClock, byMs: number): void;
  /** Does something by the clock that people read on nodes. */
  onNode<T>(run: () => T): T;
  /**
   * Nothing of the program runs for a while. Of one that is paused, all timers that were due fire then; of a
   * machine that sleeps, no timer went on meanwhile.
   */
  freeze(how: "paused" | "asleep", forMs: number): void;
  /** Freezes one process, and nothing else. */
  pause(process: Process, forMs: number): void;
  /** For how long a process is still frozen. */
  frozenMs(): number;
  /** Runs tasks until `isDone`; false where that takes longer than the limit. */
  until(isDone: () => boolean, limitMs: number): Promise<boolean>;
  /** Begins a process, the newest one from now on. */
  begin(): Process;
  /** Ends a process: none of its timers fires any more, and it makes no new ones. */
  kill(process: Process): void;
  /** Tasks that have run so far. */
  count(): number;
}

/** A run of the program under test. A crash ends it; another one may take over from it while it is frozen. */
export interface Process {
  isAlive: boolean;
  frozenUntil: number;
}

/** Who does something: a process, what else runs on its machine, or the rest of the world. */
type Doer = Process | "host" | "world";

const isProcess = (by: Doer): by is Process => typeof by === "object";

/** Whose clock. */
export type WallClock = "control" | "nodes";

interface Task {
  at: number;
  readonly run: () => void;
  readonly by: Doer;
  isCancelled: boolean;
}

/** Beginning of every simulation; the date means nothing. */
const epoch = Date.UTC(2026, 0, 1);
const require = createRequire(import.meta.url);
const realImmediate = setImmediate;
const RealDate = Date;
/** Whose code runs. One for all simulations: what a frame of context holds is copied with each of its changes. */
const running = new AsyncLocalStorage<Process>();

/** Opens simulated time at its beginning. */
export function openClock(): Clock {
  let tasks: Task[] = [];
  let now = epoch;
  let count = 0;
  let newest: Process = { isAlive: false, frozenUntil: 0 };
  const living = new Set<Process>();
  const stepped = { control: 0, nodes: 0 };
  let reader: WallClock = "control";
  let hostFrozenUntil = 0;
  let asleepMs = 0;

  const process = () => running.getStore() ?? newest;

  function frozenUntil(by: Doer): number {
    if (by === "world") return 0;
    return by === "host" ? hostFrozenUntil : Math.max(hostFrozenUntil, by.frozenUntil);
  }

  function add(ms: number, run: () => void, by: Doer): Task {
    const at = Math.max(now + Math.max(0, ms || 0), frozenUntil(by));
    const task = { at, run, by, isCancelled: false };
    let index = tasks.length;
    while (index > 0 && (tasks[index - 1] as Task).at > task.at) index -= 1;
    if (!isProcess(by) || by.isAlive) tasks.splice(index, 0, task);
    return task;
  }

  function pause(one: Process, forMs: number): void {
    one.frozenUntil = Math.max(one.frozenUntil, now + forMs);
    for (const task of tasks) if (task.by === one) task.at = Math.max(task.at, now + forMs);
    tasks.sort((a, b) => a.at - b.at);
  }

  function fallAsleep(forMs: number): void {
    // One that is asleep already sleeps on.
    const moreMs = Math.max(0, now + forMs - Math.max(hostFrozenUntil, now));
    for (const task of tasks) if (task.by !== "world") task.at += moreMs;
    tasks.sort((a, b) => a.at - b.at);
    hostFrozenUntil = Math.max(hostFrozenUntil, now) + moreMs;
    asleepMs += moreMs;
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
      if (isProcess(task.by)) running.run(task.by, task.run);
      else task.run();
    }
  }

  install({
    wall: () => Math.floor(now + stepped[reader]),
    monotonic: () => now - epoch - asleepMs,
    add: (ms, run) => add(ms, run, process()),
  });
  return {
    now: () => now - epoch,
    after: (ms, run, by = "world") => void add(ms, run, by),
    tell(run, to = newest) {
      if (now > frozenUntil(to)) running.run(to, run);
      else add(0, run, to);
    },
    process,
    newest: () => newest,
    within: (one, run) => running.run(one, run),
    step(whose, byMs) {
      stepped[whose] += byMs;
    },
    onNode(run) {
      reader = "nodes";
      try {
        return run();
      } finally {
        reader = "control";
      }
    },
    freeze: (how, forMs) => (how === "asleep" ? fallAsleep(forMs) : pause(newest, forMs)),
    pause,
    frozenMs: () =>
      Math.max(0, hostFrozenUntil - now, ...[...living].map((one) => frozenUntil(one) - now)),
    until,
    begin() {
      newest = { isAlive: true, frozenUntil: 0 };
      living.add(newest);
      return newest;
    },
    kill(one) {
      one.isAlive = false;
      living.delete(one);
      tasks = tasks.filter(({ by }) => by !== one);
    },
    count: () => count,
  };
}

interface Time {
  wall(): number;
  monotonic(): number;
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
      super(...((given.length === 0 ? [time.wall()] : given) as []));
    }
    static override now = time.wall;
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
  performance.now = time.monotonic;
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
