/** Waits for the first of the signals and says which it was. */
export function untilSignal(...signals: NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of signals) process.once(signal, () => resolve(signal));
  });
}
