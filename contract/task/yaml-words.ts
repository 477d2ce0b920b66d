/** What is wrong and what to do about it, by what the parser says of it; the first row that matches. */
const rows: readonly [RegExp, string][] = [
  [
    /^Nested mappings are not allowed.*/s,
    "a value holds `: `, or the line below is indented too far; put the value in quotes, or fix the indentation",
  ],
  [/^Implicit (?:map )?keys need.*/s, "a field needs a `:` and a space after its name"],
  [/^All mapping items.*/s, "fields of one mapping need the same indentation"],
  [/^All sequence items.*/s, "items of one list need the same indentation"],
  [
    /^Unexpected block-seq-ind.*/s,
    "a value cannot begin with `- `; put it in quotes, or begin the list on a line of its own",
  ],
  [/^Plain value cannot start.*(\S)$/s, "a value cannot begin with `$1`; put it in quotes"],
  [/^Missing closing (.).*/s, "the text is not closed; end it with $1"],
  [/^Flow sequence in block.*/s, "the list is not closed; end it with ]"],
  [/^Flow map in block.*/s, "the mapping is not closed; end it with }"],
  [/^Tabs are not allowed.*/s, "the line is indented with a tab; use spaces"],
  [/^Unresolved tag: (.*)/s, "unknown tag `$1`; put the value in quotes if it is text"],
  [/^Invalid escape sequence (.*)/s, "`$1` has no meaning in double quotes; use single quotes"],
  [
    /^Unexpected \S+ at node end.*/s,
    "the value has ended before this; put all of it in quotes, or fix the indentation",
  ],
];

/** Some of the parser's messages quote the text, however long it is. */
const longestMessage = 300;

/** What a YAML parser says, in words for the author of the text; a rare error in the parser's own. */
export function inOurWords(said: string): string {
  const message = said.slice(0, longestMessage);
  const row = rows.find(([pattern]) => pattern.test(message));
  return row ? message.replace(...row) : message.charAt(0).toLowerCase() + message.slice(1);
}
