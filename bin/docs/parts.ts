/** What is made of a page, by the names of the marks that it stands between. */
export type Parts = Readonly<Record<string, () => string>>;

/** A page with its parts between their marks, `<!-- name -->` and `<!-- /name -->`; throws where marks are missing. */
export function withParts(file: string, page: string | undefined, parts: Parts): string {
  let text = page ?? "";
  for (const [name, render] of Object.entries(parts)) {
    const [before, between, after] = text.split(
      new RegExp(`(?<=<!-- ${name} -->)|(?=<!-- /${name} -->)`),
    );
    if (between === undefined || after === undefined)
      throw new Error(`${file} has no marks <!-- ${name} --> and <!-- /${name} -->`);
    // A part of a line stays in it.
    text = [before, between.startsWith("\n") ? `\n\n${render()}\n\n` : render(), after].join("");
  }
  return text;
}
