/** An instant in milliseconds as the whole seconds of the wire. */
export const seconds = <At extends number | null>(at: At): At =>
  (at === null ? null : Math.floor(at / 1000)) as At;

/** An instant in milliseconds as seconds that keep their fraction. */
export const preciseSeconds = <At extends number | null>(at: At): At =>
  (at === null ? null : at / 1000) as At;

/** The keys that hold something. */
export const withoutNulls = <T extends object>(record: T): Partial<T> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value != null)) as Partial<T>;
