/**
 * Tells those who wait that something changed, by key. A waiter reads the truth again when woken:
 * a change carries no data, so none can be stale.
 */
export interface Changes {
  /** Wakes everyone who waits for the key. */
  notify(key: string): void;
  /** Resolves at the next change of the key; rejects when the signal aborts. */
  wait(key: string, signal: AbortSignal): Promise<void>;
}

interface Waiter {
  wake(): void;
}

/** Opens a set of keys with nobody waiting. */
export function openChanges(): Changes {
  const waiting = new Map<string, Set<Waiter>>();
  return {
    notify(key) {
      const waiters = waiting.get(key);
      waiting.delete(key);
      for (const waiter of waiters ?? []) waiter.wake();
    },
    wait: (key, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const waiters = waiting.get(key) ?? new Set();
        waiting.set(key, waiters);
        const abort = () => {
          waiters.delete(waiter);
          if (waiters.size === 0 && waiting.get(key) === waiters) waiting.delete(key);
          reject(signal.reason);
        };
        const waiter = {
          wake() {
            signal.removeEventListener("abort", abort);
            resolve();
          },
        };
        waiters.add(waiter);
        signal.addEventListener("abort", abort, { once: true });
      }),
  };
}
