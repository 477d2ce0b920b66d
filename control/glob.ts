import { setImmediate as nextTurn } from "node:timers/promises";

/** Whether a text stands for more than itself. */
export const isPattern = (glob: string): boolean => /[*?]/.test(glob);

/**
 * Whether a name fits a pattern with `*` and `?` as shells have them. Takes at most the product of
 * their lengths in steps, whatever the pattern: only the latest `*` is ever tried again.
 */
function fitsGlob(glob: string, name: string): boolean {
  if (!isPattern(glob)) return glob === name;
  let at = 0;
  let star = -1;
  let starAt = 0;
  for (let index = 0; index < name.length; ) {
    if (glob[at] === "*") {
      star = at;
      starAt = index;
      at += 1;
    } else if (glob[at] === "?" || glob[at] === name[index]) {
      at += 1;
      index += 1;
    } else {
      if (star === -1) return false;
      at = star + 1;
      starAt += 1;
      index = starAt;
    }
  }
  return /^\**$/.test(glob.slice(at));
}

/** Each takes some 0.05 ms at most, as names are short. */
const pairsAtOnce = 200;

/** The names that fit at least one of the patterns, in their order; others have their turn meanwhile. */
export async function namesThatFit(
  globs: readonly string[],
  names: readonly string[],
): Promise<string[]> {
  const found: string[] = [];
  let pairs = 0;
  for (const name of names)
    for (const glob of globs) {
      pairs += 1;
      if (pairs % pairsAtOnce === 0) await nextTurn();
      if (!fitsGlob(glob, name)) continue;
      found.push(name);
      break;
    }
  return found;
}
