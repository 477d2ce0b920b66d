/** By more than this no clock is kept right: it was set, or the machine slept. */
const slackMs = 2_000;

/**
 * Says since when, by the clock that people read, this program has been there without a break: since the
 * first call, or since that clock and the steady one last came apart.
 */
export function openPresence(
  wallMs: () => number,
  steadyMs = () => performance.now(),
): () => number {
  let [since, apart] = [wallMs(), wallMs() - steadyMs()];
  return () => {
    const now = wallMs();
    if (Math.abs(now - steadyMs() - apart) > slackMs) since = now;
    apart = now - steadyMs();
    return since;
  };
}
