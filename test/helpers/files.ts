import { createHash } from "node:crypto";
import type { Entry, FilesOffered } from "../../contract/files-api.ts";
import type { AgentClient } from "./agent.ts";

/** What a test wants at a path: the text of a file, a folder, or where a link leads. */
type Wanted = string | { folder: true } | { link: string } | { text: string; mode: number };

/** Files by their paths. */
export type Tree = Readonly<Record<string, Wanted>>;

export const sha256Of = (content: string | Buffer): string =>
  createHash("sha256").update(content).digest("hex");

/** The manifest of a tree. */
export const manifestOf = (tree: Tree): Entry[] =>
  Object.entries(tree).map(([path, wanted]) => {
    if (typeof wanted === "object" && "folder" in wanted) return { kind: "folder", path };
    if (typeof wanted === "object" && "link" in wanted)
      return { kind: "link", path, target: wanted.link };
    const { text, mode } = typeof wanted === "string" ? { text: wanted, mode: 0o644 } : wanted;
    return { kind: "file", path, size: Buffer.byteLength(text), mode, sha256: sha256Of(text) };
  });

/** Offers a tree to an agent once. */
export const offer = (agent: AgentClient, destination: string, tree: Tree): Promise<FilesOffered> =>
  agent.call("offerFiles", { destination }, linesOf(manifestOf(tree)));

/** Sends the contents of these texts. */
export const send = (agent: AgentClient, ...texts: string[]) =>
  agent.call("sendContents", {}, Buffer.concat(texts.map(framed)));

/** Brings a tree to an agent, as control does; what the last offer answered, and the first. */
export async function bring(agent: AgentClient, destination: string, tree: Tree) {
  const first = await offer(agent, destination, tree);
  if (first.missing.length === 0) return { first, last: first };
  const wanted = new Set(first.missing.map(({ sha256 }) => sha256));
  const texts = Object.values(tree).flatMap((one) =>
    typeof one === "string" ? [one] : "text" in one ? [one.text] : [],
  );
  await send(agent, ...texts.filter((text) => wanted.has(sha256Of(text))));
  return { first, last: await offer(agent, destination, tree) };
}

/** A content as it travels. */
export function framed(text: string): Buffer {
  const bytes = Buffer.from(text);
  const header = JSON.stringify({ sha256: sha256Of(bytes), size: bytes.length });
  return Buffer.concat([Buffer.from(`${header}\n`), bytes]);
}

export const linesOf = (rows: readonly object[]): Buffer =>
  Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
