import { AppError } from "../../common/errors.ts";
import type { Provider } from "./provider.ts";

/** How long each call of a provider may take, in milliseconds: what may bring a program to a node, longest. */
const limitsMs = {
  offers: 60_000,
  outlook: 5_000,
  list: 60_000,
  find: 120_000,
  endAgent: 60_000,
  stop: 600_000,
  destroy: 600_000,
  takeAway: 60_000,
  prepare: 600_000,
  create: 1_800_000,
} as const;

type Bounded = keyof typeof limitsMs;

/** Calls that change nothing. */
const reads: readonly Bounded[] = ["offers", "outlook", "list", "find"];
type Call = (...given: unknown[]) => Promise<unknown>;

/** A call that is aborted has so long to end what it began, so that nothing of it lands afterwards. */
const graceMs = 10_000;

/**
 * The provider, each of whose calls ends: with `TimeoutError` once its limit is over, and after an abort
 * even where the provider does not listen to it. Before it changes anything it asks whether this process
 * still may, and throws what that throws.
 */
export function bounded(provider: Provider, mayChange: () => Promise<void>): Provider {
  const calls = (Object.keys(limitsMs) as Bounded[])
    .filter((name) => provider[name] !== undefined)
    .map((name): [Bounded, Call] => [
      name,
      (...given) => {
        const signal = given.pop() as AbortSignal;
        const begin = async (limit: AbortSignal) => {
          if (!reads.includes(name)) await mayChange();
          return (provider[name] as Call)(...given, limit);
        };
        return within(limitsMs[name], signal, begin, () => tooLate(provider.name, name));
      },
    ]);
  return Object.assign(Object.create(provider), Object.fromEntries(calls));
}

const tooLate = (place: string, call: Bounded): AppError =>
  new AppError(
    "TimeoutError",
    `${place} did not answer within ${limitsMs[call] / 1_000} s (${call}); control retries`,
  );

/** The outcome of a call, or why it was ended; an ended call is waited for, but not for long. */
async function within(
  limitMs: number,
  signal: AbortSignal,
  begin: (limit: AbortSignal) => Promise<unknown>,
  error: () => AppError,
): Promise<unknown> {
  signal.throwIfAborted();
  const ending = new AbortController();
  const { promise: givenUp, reject: giveUp } = Promise.withResolvers<never>();
  let grace: NodeJS.Timeout | undefined;
  const end = (reason: unknown) => {
    ending.abort(reason);
    grace ??= setTimeout(() => giveUp(reason), graceMs);
  };
  const abort = () => end(signal.reason);
  const limit = setTimeout(() => end(error()), limitMs);
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([begin(ending.signal), givenUp]);
  } finally {
    signal.removeEventListener("abort", abort);
    clearTimeout(limit);
    clearTimeout(grace);
  }
}
