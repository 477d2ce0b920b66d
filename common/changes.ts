/**
 * Tells those who wait that something changed, by key. A change carries no data: whoever is woken
 * looks at the truth again, so nothing stale travels and none is missed between look and wait.
 */
export interface Changes {
  /** Wakes everyone who waits for the key. */
  notify(key: string): void;
  /**
   * Calls `look` now and after each change of the key, or of any of the keys, until it finds
   * something, and returns that. Rejects with the signal's reason when it aborts.
   */
  until<T>(
    keys: string | readonly string[],
    look: () => Promise<T | undefined>,
    signal: AbortSignal,
  ): Promise<T>;
}

interface Waiter {
  changed: boolean;
  wake(): void;
}

/** Opens a set of keys with nobody waiting. */
export function openChanges(): Changes {
  const waiting = new Map<string, Set<Waiter>>();

  function notify(key: string): void {
    for (const waiter of waiting.get(key) ?? []) {
      waiter.changed = true;
      waiter.wake();
    }
  }

  async function until<T>(
    keys: string | readonly string[],
    look: () => Promise<T | undefined>,
    signal: AbortSignal,
  ): Promise<T> {
    const waiter: Waiter = { changed: false, wake() {} };
    for (const key of [keys].flat()) add(waiting, key, waiter);
    try {
      for (;;) {
        signal.throwIfAborted();
        waiter.changed = false;
        const found = await look();
        if (found !== undefined) return found;
        if (!waiter.changed && !signal.aborted) await untilWoken(waiter, signal);
      }
    } finally {
      for (const key of [keys].flat()) remove(waiting, key, waiter);
    }
  }

  return { notify, until };
}

const untilWoken = (waiter: Waiter, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    waiter.wake = () => {
      signal.removeEventListener("abort", waiter.wake);
      resolve();
    };
    signal.addEventListener("abort", waiter.wake);
  });

function add(waiting: Map<string, Set<Waiter>>, key: string, waiter: Waiter): void {
  const waiters = waiting.get(key);
  if (waiters === undefined) waiting.set(key, new Set([waiter]));
  else waiters.add(waiter);
}

function remove(waiting: Map<string, Set<Waiter>>, key: string, waiter: Waiter): void {
  const waiters = waiting.get(key);
  waiters?.delete(waiter);
  if (waiters?.size === 0) waiting.delete(key);
}
