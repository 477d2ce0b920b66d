import { setTimeout as sleep } from "node:timers/promises";
import { AppError, type ErrorType, errorCodeOf, messageOf } from "../../../common/errors.ts";
import { nameOf, type SshTarget } from "./target.ts";

interface Trouble {
  readonly type: ErrorType;
  says(target: SshTarget, why: string): string;
}

const cannotBeReached: Trouble = {
  type: "CloudError",
  says: ({ port }, why) => `cannot be reached on port ${port} (${why}); check address and network`,
};
const isSilent: Trouble = {
  type: "TimeoutError",
  says: ({ port }) => `does not respond on port ${port}; is it on, and does a firewall block it?`,
};
const isNoServer: Trouble = {
  type: "CloudError",
  says: ({ port }, why) => `the service on port ${port} closed the connection (${why})`,
};
const isTurnedAwayFrom: Trouble = {
  type: "CloudError",
  says: ({ port }) =>
    `port ${port} accepts connections and closes them immediately; is the machine off behind a gateway, ` +
    "is this another service, or is the SSH server too busy (MaxStartups)?",
};
const isLost: Trouble = {
  type: "CloudError",
  says: () => "the connection was lost; is it on, and is the network up?",
};

/** Codes of errors of our own. */
export const codes = { turnedAway: "TURNED_AWAY", lost: "LOST" } as const;

/** What goes wrong on the way in, by the error's code, or by the level that `ssh2` gives it. */
const troubles: Readonly<Record<string, Trouble>> = {
  ECONNREFUSED: {
    type: "CloudError",
    says: ({ port }) => `nothing listens on port ${port}; is the SSH server running?`,
  },
  ENOTFOUND: { type: "CloudError", says: () => "this name has no address" },
  EAI_AGAIN: { type: "CloudError", says: () => "its name cannot be resolved now" },
  EHOSTUNREACH: cannotBeReached,
  ENETUNREACH: cannotBeReached,
  ETIMEDOUT: isSilent,
  "client-timeout": isSilent,
  ECONNRESET: isTurnedAwayFrom,
  [codes.turnedAway]: isTurnedAwayFrom,
  [codes.lost]: isLost,
  handshake: isNoServer,
  protocol: isNoServer,
  "client-authentication": { type: "CloudError", says: refusal },
};

function refusal({ user, keys, password, agentSocket }: SshTarget): string {
  const tried = [
    ...keys.map(({ name }) => `the key ${name}`),
    ...(agentSocket === null ? [] : ["the keys of the SSH agent"]),
    ...(password === null ? [] : ["the password"]),
  ];
  const offered = tried.length === 0 ? "there is neither key nor password" : tried.join(", ");
  return `refuses to let ${user} in (tried: ${offered}); add the public key to ~${user}/.ssh/authorized_keys`;
}

/** An error of `ssh2` or of the network as ours; it names the machine. */
export function sshTrouble(target: SshTarget, error: unknown): AppError {
  if (error instanceof AppError) return error;
  const why = messageOf(error);
  const { type, says } = troubles[errorCodeOf(error) ?? levelOf(error)] ?? other;
  return new AppError(type, `host ${nameOf(target)}: ${says(target, why)}`, {}, error);
}

/** Whether a server, or what answers for it, closed the connection before it said what it is. */
export const isTurnedAway = (error: unknown): boolean =>
  error instanceof AppError &&
  ["ECONNRESET", codes.turnedAway as string].includes(errorCodeOf(error.cause) ?? "");

/** Whether a server begins no more sessions on a connection now: it frees those that have ended a little later. */
export const isFullOfSessions = (error: unknown): boolean =>
  error instanceof AppError &&
  /^\(SSH\) Channel open failure: open failed$/.test(messageOf(error.cause));

const firstPauseMs = 100;
const longestPauseMs = 800;

/**
 * Tries what may fail for a moment, not at the same times as others: five times take a second and a half,
 * each further one 0.8 s. An abort ends the pauses.
 */
export async function persist<Result>(
  isPassing: (error: unknown) => boolean,
  attempt: () => Promise<Result>,
  {
    times = 5,
    signal,
  }: { readonly times?: number; readonly signal?: AbortSignal | undefined } = {},
): Promise<Result> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isPassing(error) || tried === times) throw error;
      const pauseMs = Math.min(firstPauseMs * 2 ** (tried - 1), longestPauseMs);
      await sleep(pauseMs * (0.5 + Math.random()), undefined, { signal }).catch(() => {});
      signal?.throwIfAborted();
    }
  }
}

const other: Trouble = { type: "CloudError", says: (_, why) => `the connection failed: ${why}` };

function levelOf(error: unknown): string {
  const level = error instanceof Error && "level" in error ? error.level : undefined;
  return typeof level === "string" ? level : "";
}

const looks = 10;

/**
 * Resolves as the promise does, but throws once it took too long or the signal aborts. A time for
 * which this process itself was held up counts as one look: nobody else is to blame for it.
 */
export async function within<T>(
  promise: Promise<T>,
  ms: number,
  late: () => AppError,
  signal?: AbortSignal,
): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  let left = looks;
  const timer = setInterval(() => {
    left -= 1;
    if (left === 0) setImmediate(() => reject(late()));
  }, ms / looks);
  const abort = () => reject(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, ended]);
  } finally {
    clearInterval(timer);
    signal?.removeEventListener("abort", abort);
  }
}
