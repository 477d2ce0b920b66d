/**
 * The results of all, once every one of them is over: nothing of them goes on behind the caller's
 * back. Throws what the first in the list that failed threw.
 */
export async function settleAll<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
