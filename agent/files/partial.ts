import { constants } from "node:fs";
import { appendFile, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { fail } from "../../common/errors.ts";
import { fileDigestOf } from "../../common/files.ts";
import type { FetchedContent } from "../../contract/files-api.ts";

/** The bytes of a content from `offset` to `end`. */
export interface Part {
  readonly offset: number;
  readonly end: number;
}

/** A content that is being fetched. Which parts of it are on disk survives a crash. */
export interface Partial extends AsyncDisposable {
  /** What is still to be fetched. */
  readonly missing: readonly Part[];
  write(bytes: Uint8Array, position: number): Promise<void>;
  /** Remembers that a part is complete, once it is on disk. */
  complete(part: Part): Promise<void>;
  /** Checks the whole and gives it its name. Throws `StorageError` where it is not what its digest says. */
  finish(digest: FetchedContent["digest"]): Promise<void>;
}

/** After a crash at most this much of each connection is fetched again. */
const partBytes = 16 * 1024 * 1024;

/** Opens what there is of a content that will lie at `path`. */
export async function openPartial(path: string, content: FetchedContent): Promise<Partial> {
  const draft = `${path}.part`;
  const notes = `${path}.done`;
  const file = await open(draft, constants.O_CREAT | constants.O_RDWR, 0o600);
  // Notes are about this very file: both may be deleted on their own.
  const mark = `${(await file.stat()).ino}`;
  const done = content.hasRanges ? await readNotes(notes, mark) : new Set<number>();
  if (done.size === 0) await writeFile(notes, `${mark}\n`, { mode: 0o600 });
  return {
    missing: partsOf(content).filter(({ offset }) => !done.has(offset)),
    async write(bytes, position) {
      for (let at = 0; at < bytes.length; )
        at += (await file.write(bytes, at, bytes.length - at, position + at)).bytesWritten;
    },
    async complete({ offset }) {
      await file.datasync();
      await appendFile(notes, `${offset}\n`);
    },
    async finish(digest) {
      if (!(await isRight(draft, digest))) {
        await rm(draft);
        fail(
          "StorageError",
          `${content.name} came with other bytes than its store says; try again`,
        );
      }
      await rename(draft, path);
      await rm(notes, { force: true });
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}

/** The parts of a content; one where its source serves only the whole. */
function partsOf({ size, hasRanges }: FetchedContent): Part[] {
  const bytes = hasRanges ? partBytes : Math.max(1, size);
  return Array.from({ length: Math.ceil(size / bytes) }, (_, at) => ({
    offset: at * bytes,
    end: Math.min(size, (at + 1) * bytes),
  }));
}

/** Which parts are complete; the last line counts only if it is whole. */
async function readNotes(notes: string, mark: string): Promise<Set<number>> {
  const text = await readFile(notes, "utf8").catch(() => "");
  const [of, ...offsets] = text.split("\n").slice(0, -1);
  return new Set(of === mark ? offsets.map(Number) : []);
}

const isRight = async (file: string, digest: FetchedContent["digest"]): Promise<boolean> =>
  digest === null || (await fileDigestOf(file, digest.algorithm)) === digest.hex;
