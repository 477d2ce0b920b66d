import { count } from "../../../common/count.ts";
import type { FilesOffered } from "../../../contract/files-api.ts";
import { bytesText } from "../../../contract/sizes.ts";

/**
 * What came of files on nodes of a cluster: a line for all of its nodes where it is the same, otherwise
 * one for each. `workdir: 3 of 120 files changed, 1.2 MB`.
 */
export function describeDone(
  name: string,
  texts: readonly string[],
  { ranks, nodes }: { ranks: readonly number[]; nodes: number },
): string[] {
  const [first = ""] = texts;
  if (nodes === 1) return [`${name}: ${first}`];
  if (texts.length === nodes && texts.every((text) => text === first))
    return [`${name}: ${first} (on each of ${nodes} nodes)`];
  return texts.map((text, at) => `${name}: ${text} (node ${ranks[at]})`);
}

/** What came of an offer on a node. */
export function describeOffer({
  files,
  changed,
  changedBytes,
  removed,
}: Omit<FilesOffered, "missing">): string {
  const gone = removed > 0 ? `, ${removed} removed` : "";
  if (changed === 0) return `${count(files, "file")}, none changed${gone}`;
  return `${changed} of ${count(files, "file")} changed, ${bytesText(changedBytes)}${gone}`;
}
