import type { Outcome } from "./play.ts";
import type { Numbered } from "./stage.ts";

/** The fewest steps found that fail for the same words: whatever can be left out is. */
export async function shrink(
  steps: readonly Numbered[],
  failed: (fewer: readonly Numbered[]) => Promise<boolean>,
): Promise<readonly Numbered[]> {
  let rest = steps;
  for (let size = Math.ceil(rest.length / 2); size > 0; size = Math.floor(size / 2))
    for (let at = 0; at < rest.length; ) {
      const fewer = rest.filter((_, index) => index < at || index >= at + size);
      if (await failed(fewer)) rest = fewer;
      else at += size;
    }
  return rest;
}

/** Whether two runs failed alike. */
export const isAlike = (one: Outcome, other: Outcome): boolean =>
  one.failure !== null && one.failure.message === other.failure?.message;
