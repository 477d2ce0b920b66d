/** A clock in epoch milliseconds that is set by the one that people read once, when it is opened. */
export function openSteadyClock(wallMs = Date.now, monotonicMs = () => performance.now()) {
  const beganAt = wallMs() - monotonicMs();
  return (): number => Math.round(beganAt + monotonicMs());
}
