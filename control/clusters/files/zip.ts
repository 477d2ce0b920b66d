import type { Readable } from "node:stream";
import { ZipFile } from "yazl";

/** Something in a zip; a file is opened once it is its turn. */
export type Member =
  | { readonly kind: "file"; readonly name: string; readonly mode: number; open(): Readable }
  | { readonly kind: "folder"; readonly name: string }
  | { readonly kind: "link"; readonly name: string; readonly target: string };

/** Kinds of files, as the upper half of the attributes has them. Source: stat(2). */
const fileKind = 0o100_000;
const linkMode = 0o120_777;

/** A zip that is made while it is read; whoever closes it closes the file in hand. */
export function zipOf(members: Iterable<Member>): Readable {
  const zip = new ZipFile();
  const body = zip.outputStream as unknown as Readable;
  let inHand: Readable | undefined;
  zip.on("error", (error: Error) => body.destroy(error));
  body.on("close", () => inHand?.destroy());
  for (const member of members) {
    const { kind, name } = member;
    if (kind === "folder") zip.addEmptyDirectory(name);
    if (kind === "link") zip.addBuffer(Buffer.from(member.target), name, { mode: linkMode });
    if (kind !== "file") continue;
    zip.addReadStreamLazy(name, { mode: fileKind | member.mode }, (take) => {
      if (body.destroyed) return;
      inHand = member.open().on("error", (error) => body.destroy(error));
      take(null, inHand);
    });
  }
  zip.end();
  return body;
}
