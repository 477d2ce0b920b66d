import { createHash } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { ZipFile } from "yazl";

/** What goes into a zip at a path: a text, a text with its mode, or nothing for a folder. */
type Member = string | { text: string; mode: number } | null;

export const linkTo = (target: string): Member => ({ text: target, mode: 0o120_777 });

/**
 * A zip as clients send it. What is written `@` in a name becomes `.`, and `#` becomes `/`: the
 * library that makes zips refuses names that lead elsewhere.
 */
export async function zipOf(members: Readonly<Record<string, Member>>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, member] of Object.entries(members)) {
    if (member === null) zip.addEmptyDirectory(name);
    else {
      const { text, mode } =
        typeof member === "string" ? { text: member, mode: 0o100_644 } : member;
      zip.addBuffer(Buffer.from(text), name, { mode });
    }
  }
  zip.end();
  const bytes = await buffer(zip.outputStream as NodeJS.ReadableStream & AsyncIterable<Buffer>);
  if (!/[@#]/.test(Object.keys(members).join(""))) return bytes;
  return Buffer.from(bytes.toString("latin1").replaceAll("@", ".").replaceAll("#", "/"), "latin1");
}

/** The id that existing clients compute for such a zip. */
export function idOf(members: Readonly<Record<string, Member>>): string {
  const hash = createHash("sha256");
  const named = Object.entries(members).map(([name, member]) => ({
    name: `${name.replaceAll("@", ".").replaceAll("#", "/")}${member === null ? "/" : ""}`,
    text: typeof member === "string" ? member : (member?.text ?? ""),
  }));
  for (const { name, text } of named.toSorted((one, other) => (one.name < other.name ? -1 : 1)))
    hash.update(name).update(createHash("sha256").update(text).digest());
  return hash.digest("hex");
}
