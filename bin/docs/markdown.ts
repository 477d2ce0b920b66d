/** A page with its title, the table it is made from, and its parts. */
export const page = (title: string, source: string, ...parts: string[]): string =>
  `${[`# ${title}`, `<!-- Made from ${source} by npm run docs. -->`, ...parts].join("\n\n")}\n`;

/** A table with a row of titles. */
export const table = (titles: readonly string[], rows: readonly (readonly string[])[]): string =>
  [titles, titles.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");

/** Text as code. */
export const code = (text: string): string => `\`${text}\``;
