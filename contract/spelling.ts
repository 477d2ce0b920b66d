import { product } from "../common/product.ts";

/** How to see what there is: `list them with: outrigger status`. */
export const listedBy = (command: string): string => `list them with: ${product.word} ${command}`;

/** What to tell whoever named what there is not: the known word that is close to it, or else the way out. */
export function hintOf(word: string, known: readonly string[], wayOut: string): string {
  const close = closestOf(word, known);
  return close === undefined ? wayOut : `did you mean \`${close}\`?`;
}

/** The known word that was most likely meant, or undefined when none is close. */
function closestOf(word: string, known: readonly string[]): string | undefined {
  if (word.length > 40) return undefined;
  const allowed = Math.max(1, Math.floor(word.length / 3));
  const ranked = known
    .map((name) => ({ name, distance: distanceOf(word.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= allowed && 2 * distance < longer(word, name))
    .sort((a, b) => a.distance - b.distance);
  return ranked[0]?.name ?? wholeOf(word, known);
}

/** The only known name of which the word is a part: `num_nodes` for `nodes`. */
function wholeOf(word: string, known: readonly string[]): string | undefined {
  const [name, ...others] = known.filter((one) => one.split("_").includes(word.toLowerCase()));
  return others.length === 0 ? name : undefined;
}

/** Most of a word must be there, also of a short one. */
const longer = (a: string, b: string): number => Math.max(a.length, b.length);

/** How many letters must be changed, added, dropped or swapped to make one word the other. */
function distanceOf(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const line = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      line[column] = Math.min(
        cell(above, column) + 1,
        cell(line, column - 1) + 1,
        cell(above, column - 1) + (same ? 0 : 1),
        swapped ? cell(before, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [before, above] = [above, line];
  }
  return cell(above, b.length);
}

const cell = (line: readonly number[], column: number): number =>
  line[column] ?? Number.POSITIVE_INFINITY;
