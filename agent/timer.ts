import type { Agent } from "./context.ts";

/** Node.js fires a timer of more than 24.8 days at once. */
const longestMs = 86_400_000;

/**
 * Resolves once the clock since boot has reached what `when` answers, undefined being never; `when`
 * is asked again after each change of the key.
 */
export async function untilDue(
  { changes, monotonic }: Pick<Agent, "changes" | "monotonic">,
  key: string,
  when: () => number | undefined,
  signal: AbortSignal,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<true | undefined> => {
    clearTimeout(timer);
    const atMs = when();
    if (atMs === undefined) return undefined;
    const leftMs = atMs - monotonic();
    if (leftMs <= 0) return true;
    timer = setTimeout(() => changes.notify(key), Math.min(leftMs, longestMs));
  };
  try {
    await changes.until(key, look, signal);
  } finally {
    clearTimeout(timer);
  }
}
