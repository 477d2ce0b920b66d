import type { FilesOffered } from "../../../contract/files-api.ts";
import { bytesText } from "../../../contract/sizes.ts";

/**
 * What came of files on each node: a line for all nodes where it is the same, otherwise one for each.
 * `workdir: 3 of 120 files changed, 1.2 MB`.
 */
export function describeOffers(name: string, offers: readonly FilesOffered[]): string[] {
  const texts = offers.map(describe);
  const [first = ""] = texts;
  if (texts.length === 1) return [`${name}: ${first}`];
  if (texts.every((text) => text === first))
    return [`${name}: ${first} (on each of ${texts.length} nodes)`];
  return texts.map((text, rank) => `${name}: ${text} (node ${rank})`);
}

function describe({ files, changed, changedBytes, removed }: FilesOffered): string {
  const gone = removed > 0 ? `, ${removed} removed` : "";
  const noun = files === 1 ? "file" : "files";
  if (changed === 0) return `${files} ${noun}, none changed${gone}`;
  return `${changed} of ${files} ${noun} changed, ${bytesText(changedBytes)}${gone}`;
}
