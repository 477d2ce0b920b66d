import { AppError } from "../../common/errors.ts";
import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";
import type { Place, Trouble } from "./script.ts";

/** What lies between control and the rest of the world: calls take time, and may meet trouble. */
export interface Network {
  readonly clock: Clock;
  /**
   * Has something done on the other side. The work itself takes no time; what is on its way there
   * and back may be late, done twice, or lost. A process that was killed gets no answer.
   */
  call<T>(way: Way, subject: string, signal: AbortSignal, work: Work<T>): Promise<T>;
  /** Has the next calls to a place meet trouble. */
  trouble(place: Place, trouble: Trouble, times: number): void;
  /** When a call last met trouble. */
  troubledAt(): number;
  /** Faults are over. */
  calm(): void;
}

/** What is done on the other side; `isLate` where the process that asked for it is not the newest any more. */
type Work<T> = (isLate: boolean) => Promise<T>;

/** Where a call goes. */
export interface Way {
  readonly place: Place;
  /** How late everything on this way is, now. */
  lateMs?(): number;
}

/** How long each way takes, at least and at most. */
const wayMs: Readonly<Record<Place, readonly [number, number]>> = {
  agent: [1, 25],
  balancer: [1, 25],
  list: [5, 60],
  create: [100, 4_000],
  stop: [50, 2_000],
  destroy: [50, 2_000],
};
const slowMs = [3_000, 25_000] as const;

/** Opens a network without troubles. `trace` has a line for all that happens. */
export function openNetwork(clock: Clock, random: Random, trace: (line: string) => void): Network {
  let troubles: { place: Place; trouble: Trouble; times: number }[] = [];

  let troubledAt = 0;

  function nextTrouble(place: Place): Trouble | undefined {
    const one = troubles.find((armed) => armed.place === place && armed.times > 0);
    if (one !== undefined) one.times -= 1;
    if (one !== undefined) troubledAt = clock.now();
    return one?.trouble;
  }

  function call<T>(
    { place, lateMs = () => 0 }: Way,
    subject: string,
    signal: AbortSignal,
    work: Work<T>,
  ): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const mine = clock.process();
    const trouble = nextTrouble(place);
    const isOver = () => !mine.isAlive || signal.aborted;
    const isLate = () => mine !== clock.newest();
    const lateAtFirst = lateMs() > 0;
    // Of what is on a slow way already the other side is not told that it was given up, and a cloud does not
    // hear of the end of a process that has asked it for a machine.
    const comesAnyway = () => lateAtFirst || (place === "create" && !signal.aborted);
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    const wait = () =>
      random.between(...wayMs[place]) +
      lateMs() +
      (trouble === "slow" ? random.between(...slowMs) : 0);
    const fails = (why: string) => reject(errorOf(place, why));

    async function arrive(): Promise<void> {
      if (isOver() && !comesAnyway()) return;
      if (trouble === "refused") return clock.tell(() => fails("refused"), mine);
      trace(`${place} ${subject}${trouble === undefined ? "" : ` (${trouble})`}`);
      const first = attempt(() => work(isLate()));
      const answer = trouble === "twice" ? first.then(() => attempt(() => work(isLate()))) : first;
      const { result, error } = await answer;
      const back = () => {
        if (isOver()) return;
        if (trouble === "answer lost") return fails("the answer was lost");
        if (error === undefined) resolve(result as T);
        else reject(error);
      };
      clock.after(wait(), back, mine);
    }
    clock.after(wait(), () => void arrive());
    return promise;
  }

  return {
    clock,
    call,
    troubledAt: () => troubledAt,
    trouble: (place, trouble, times) => troubles.push({ place, trouble, times }),
    calm() {
      troubles = [];
    },
  };
}

/** What work came to; it never rejects. */
const attempt = <T>(work: () => Promise<T>): Promise<{ result?: T; error?: unknown }> =>
  work().then(
    (result) => ({ result }),
    (error: unknown) => ({ error }),
  );

/** Agents and balancers are behind a connection; a provider throws errors of ours. */
const errorOf = (place: Place, why: string): Error =>
  place === "agent" || place === "balancer"
    ? new Error(`connection: ${why}`)
    : new AppError("CloudError", `${place}: ${why}`);
