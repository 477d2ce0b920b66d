import { createHash } from "node:crypto";
import { readFile, rename, utimes, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { flush, orNothing } from "../../common/files.ts";
import { paced } from "../../common/loop.ts";
import { Entry } from "../../contract/files-api.ts";

/** A list of what lies where. Its entries are read only when they are asked for. */
export interface Manifest {
  readonly digest: string;
  lists(kind: Entry["kind"], path: string): boolean;
  entries(): Promise<Entry[]>;
}

/** Opens a manifest; undefined when there is none. */
export async function openManifest(file: string): Promise<Manifest | undefined> {
  const text = await orNothing(readFile(file, "utf8"));
  if (text === undefined) return undefined;
  return {
    digest: createHash("sha256").update(text).digest("hex"),
    lists: (kind, path) => text.includes(`${JSON.stringify({ kind, path }).slice(0, -1)},`),
    entries: () => parse(text),
  };
}

async function parse(text: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const line of paced(text.split("\n")))
    if (line !== "") entries.push(Entry.parse(JSON.parse(line)));
  return entries;
}

/** What a manifest lists; undefined when there is none. */
export const readManifest = async (file: string): Promise<Entry[] | undefined> =>
  (await openManifest(file))?.entries();

/** Writes a manifest whole or not at all; it is on disk when this resolves. */
export async function writeManifest(file: string, entries: Iterable<Entry>): Promise<void> {
  const lines = Iterator.from(entries).map((entry) => `${JSON.stringify(entry)}\n`);
  await writeFile(`${file}.new`, lines, { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
  await flush(dirname(file));
}

/** Counts a file as used now; false when there is none. */
export async function renew(file: string, now: Date): Promise<boolean> {
  const renewed = await orNothing(utimes(file, now, now).then(() => true));
  return renewed ?? false;
}
