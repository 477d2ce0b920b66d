const pending = "## Pending\n";

/** What the changelog says about a version, or about the next one if the version is not in it yet. */
export function notesOf(changelog: string, version: string): string {
  const heading = findHeading(changelog, version) ?? pending;
  const [, after = ""] = changelog.split(heading);
  const notes = (after.split(/^## /m)[0] ?? "").trim();
  if (notes === "") throw new Error(`CHANGELOG.md has nothing about ${version}`);
  return `# Outrigger ${version}\n\n${notes}\n`;
}

/** The changelog with the pending section as that of a version; unchanged if it has the version already. */
export function cutVersion(changelog: string, version: string, date: string): string {
  if (findHeading(changelog, version) !== undefined) return changelog;
  if (!changelog.includes(pending)) throw new Error('CHANGELOG.md has no section "## Pending"');
  return changelog.replace(pending, `${pending}\n## ${version} - ${date}\n`);
}

const findHeading = (changelog: string, version: string): string | undefined =>
  changelog.split(/(?<=\n)/).find((line) => line.startsWith(`## ${version} - `));
