/** A table with a row of titles. */
export const table = (titles: readonly string[], rows: readonly (readonly string[])[]): string =>
  [titles, titles.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");

/** Texts below one another, with a line between. */
export const paragraphs = (texts: readonly string[]): string => texts.join("\n\n");

/** Text as code. */
export const code = (text: string): string => `\`${text}\``;

/** Texts as code, one after another. */
export const codes = (texts: readonly string[]): string => texts.map(code).join(", ");
