import { setTimeout as sleep } from "node:timers/promises";

/** Work that compares states, so that one round of it makes up for any number of missed ones. */
export interface Rounds {
  /** Has a round begin soon: now, or after the one that is under way. */
  sync(): void;
  /** Resolves once everything ended, after the signal. */
  done(): Promise<void>;
}

const retryMs = 300;
const pause = (signal: AbortSignal) => sleep(retryMs, undefined, { signal }).catch(() => {});

/** Opens rounds of some work; one that throws is told and comes again. */
export function openRounds(
  work: () => Promise<unknown>,
  failed: (error: unknown) => void,
  signal: AbortSignal,
): Rounds {
  let again = false;
  let running: Promise<void> | undefined;

  async function runAll(): Promise<void> {
    while (again && !signal.aborted) {
      again = false;
      await work().catch(async (error: unknown) => {
        if (signal.aborted) return;
        failed(error);
        await pause(signal);
        again = true;
      });
    }
    running = undefined;
  }

  return {
    sync() {
      again = true;
      running ??= runAll();
    },
    done: async () => running,
  };
}
