import { fail } from "./errors.ts";

/** Lets each key do something so often, and no more. */
export interface RateLimit {
  /** Takes one of what a key has left; 0 where there was one, else the milliseconds until there is. */
  take(key: string): number;
  /** Gives one back that turned out not to count, such as a login that succeeded. */
  giveBack(key: string): void;
}

export interface RateLimitOptions {
  /** How often on average. */
  readonly perSecond: number;
  /** How often at once, after a pause that was long enough. */
  readonly burst: number;
  /** Keys that are remembered; beyond, the one that was used longest ago starts afresh. */
  readonly keysAtMost?: number;
  /** A clock in milliseconds. */
  readonly now: () => number;
}

/**
 * A token bucket a key, kept as the one instant at which it is full again; a full bucket needs no memory,
 * and no timer fills it. Source: the generic cell rate algorithm, ITU-T I.371.
 */
export function openRateLimit({
  perSecond,
  burst,
  keysAtMost = 10_000,
  now,
}: RateLimitOptions): RateLimit {
  const fullAt = new Map<string, number>();
  const eachMs = 1_000 / perSecond;
  const wholeMs = burst * eachMs;

  /** What a bucket lacks; a clock that was set back does not lock anyone out. */
  const lacksMs = (key: string, at: number) =>
    Math.min(Math.max((fullAt.get(key) ?? at) - at, 0), wholeMs);

  function keep(key: string, at: number, lacks: number): void {
    // The order of a map is that of insertion: the least recently used comes first.
    fullAt.delete(key);
    if (lacks <= 0) return;
    fullAt.set(key, at + lacks);
    const [oldest] = fullAt.keys();
    if (fullAt.size > keysAtMost && oldest !== undefined) fullAt.delete(oldest);
  }

  return {
    take(key) {
      const at = now();
      const lacks = lacksMs(key, at);
      const waitMs = Math.ceil(lacks + eachMs - wholeMs);
      keep(key, at, waitMs > 0 ? lacks : lacks + eachMs);
      return Math.max(waitMs, 0);
    },
    giveBack(key) {
      const at = now();
      keep(key, at, lacksMs(key, at) - eachMs);
    },
  };
}

/** A limit of so many a minute, all of which may come at once. */
export const openMinuteLimit = (count: number, { now }: { now(): Date }): RateLimit =>
  openRateLimit({ perSecond: count / 60, burst: count, now: () => now().getTime() });

/** The key of an address: a host with IPv6 has a whole network of 64 bits to call from. */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [front = "", back = ""] = address.split("::").map((half) => half.split(":"));
  const zeros = address.includes("::") ? 8 - front.length - back.length : 0;
  const groups = [...front, ...Array(Math.max(zeros, 0)).fill("0"), ...back];
  return `${groups
    .slice(0, 4)
    .map((group) => group || "0")
    .join(":")}::/64`;
}

/** Throws `RateLimitError`, whose answer says in `Retry-After` how long to wait. */
export function failTooOften(what: string, waitMs: number): never {
  const seconds = Math.ceil(waitMs / 1_000);
  return fail("RateLimitError", `${what}; try again in ${seconds} s`, { retry_after: seconds });
}

/** The value of `Retry-After` for an error that has one. */
export function retryAfterOf({
  details: { retry_after: seconds },
}: {
  readonly details: Readonly<Record<string, unknown>>;
}): string | undefined {
  return typeof seconds === "number" ? String(seconds) : undefined;
}
