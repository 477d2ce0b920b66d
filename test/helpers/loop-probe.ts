/** Tells how long the event loop of this thread was busy without a turn. */
export interface LoopProbe {
  /** The longest turn since the last call, in milliseconds of this thread's own processor time. */
  take(): number;
  stop(): void;
}

/**
 * Watches the loop. Processor time counts and not the clock, so that a machine that is busy with other
 * things makes no turn longer.
 */
export function openLoopProbe(): LoopProbe {
  let longestUs = 0;
  let before = process.threadCpuUsage();
  let next = setImmediate(look);

  function look(): void {
    const { user, system } = process.threadCpuUsage(before);
    longestUs = Math.max(longestUs, user + system);
    before = process.threadCpuUsage();
    next = setImmediate(look);
  }

  return {
    take() {
      const takenMs = longestUs / 1_000;
      longestUs = 0;
      return takenMs;
    },
    stop: () => clearImmediate(next),
  };
}
