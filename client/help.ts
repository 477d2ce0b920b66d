import { commands } from "./catalog.ts";

const helpFlags = new Set(["-h", "--help"]);
const notePlace = "      ";

export const examples = `
Examples:
  outrigger api start                               a control plane on this machine
  outrigger launch -c dev 'echo hello'              a cluster, and a job on it
  outrigger exec dev task.yaml                      another job
  outrigger logs dev                                what it wrote
  outrigger status                                  what there is
  outrigger down dev                                gone

Answers go to stdout, everything else to stderr; NO_COLOR is honoured.
OUTRIGGER_ENDPOINT names the control plane (http://127.0.0.1:46580 when unset).
Exit codes: 1 failed, 2 usage, 3 not found, 4 not allowed, 5 conflict, 6 time-out, 7 unavailable;
100 to 103 where a job was followed.`;

/** The words to parse: a wish for help about a command that there is not is dropped, and refused so. */
export function knownWords(words: readonly string[]): readonly string[] {
  return namesCommand(words) ? words : words.filter((word) => !helpFlags.has(word));
}

function namesCommand([first = "-", second = "-"]: readonly string[]): boolean {
  const isOption = second.startsWith("-");
  return (
    first.startsWith("-") ||
    commands.some(
      ({ name }) =>
        name === first ||
        name === `${first} ${second}` ||
        (isOption && name.startsWith(`${first} `)),
    )
  );
}

/** Help text that fits the width; the note of an example goes below it where there is no room beside. */
export function wrap(text: string, width: number): string {
  return text
    .split("\n")
    .flatMap((line) => (line.length <= width ? [line] : wrapLine(line, width)))
    .join("\n");
}

function wrapLine(line: string, width: number): string[] {
  const [, example, note] = /^( {2,}\S.*?) {2,}(\S.*)$/.exec(line) ?? [];
  if (example !== undefined && note !== undefined)
    return [example, ...fill(note.split(" "), notePlace, width)];
  return line.startsWith(" ") ? [line] : fill(line.split(" "), "", width);
}

/** The words in lines as full as the width allows, each behind the indent. */
function fill(words: readonly string[], indent: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(indent + word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
