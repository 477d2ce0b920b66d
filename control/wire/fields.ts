/** An instant as the whole seconds of the wire. */
export const seconds = (instant: Date): number => Math.floor(instant.getTime() / 1000);

/** An instant as seconds that keep their fraction. */
export const preciseSeconds = (instant: Date): number => instant.getTime() / 1000;

/** The keys that hold something. */
export const withoutNulls = <T extends object>(record: T): Partial<T> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value != null)) as Partial<T>;
