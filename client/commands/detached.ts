import { AppError } from "../../common/errors.ts";
import type { RequestId } from "../sdk.ts";
import type { World } from "../world.ts";

/** A request on its way, and how people call it. */
export interface Sent<T> {
  readonly id: RequestId<T>;
  readonly title: string;
  /** What it does, in a word: `launch`. */
  readonly action: string;
  /** The cluster it is about, where it is one of several. */
  readonly name: string | undefined;
}

const actionsWithHooks = new Set(["stop", "down"]);

/**
 * Says of requests that Ctrl-C or a lost control plane parted us from that they go on, and how to
 * come back to each; false when the error is of another kind.
 */
export function reportDetached(
  { terminal, signal }: World,
  requests: readonly Sent<unknown>[],
  error: unknown,
): boolean {
  if (!signal.aborted && !isLost(error)) return false;
  for (const request of requests)
    terminal.note(
      `${signal.aborted ? left(request) : lost(request)} outrigger api logs ${shortId(request.id)}`,
    );
  return true;
}

const left = (request: Sent<unknown>) => `${calledBy(request)} continues. Follow it:`;

const lost = (request: Sent<unknown>) =>
  actionsWithHooks.has(request.action)
    ? `${calledBy(request)} is not lost. Hooks continue now, the rest when the control plane is back. Then:`
    : `${calledBy(request)} continues when the control plane is back. Then:`;

const calledBy = ({ action, name }: Sent<unknown>) =>
  `The ${action}${name === undefined ? "" : ` of ${name}`}`;

/** Whether an error says that nobody is at the other end any more. */
export const isLost = (error: unknown): boolean =>
  error instanceof AppError && error.type === "UnreachableError" && error.cause !== undefined;

/** The beginning of a request's id, which control takes for the whole. */
export const shortId = (id: string): string => id.slice(0, 8);
