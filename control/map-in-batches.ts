import { setImmediate as nextTurn } from "node:timers/promises";

const atOnce = 16;

/** The results of work on each item, in their order: a few at a time, so that others have their turn. */
export async function mapInBatches<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += atOnce) {
    results.push(...(await Promise.all(items.slice(at, at + atOnce).map(work))));
    await nextTurn();
  }
  return results;
}
