import { createHash } from "node:crypto";
import * as z from "zod";

/** The id of uploaded files. */
export const BlobId = z
  .string()
  .max(64)
  .regex(/^[0-9a-f]{64}$/);

/** A file, folder or link of an archive, as the archive names it. */
export interface Member {
  readonly name: string;
  /** Kind and permissions, as in stat(2). */
  readonly mode: number;
  /** Digest of its content; a link's content is its target, a folder's is empty. */
  readonly digest: Buffer;
}

/**
 * The id of a set of files. Existing clients leave permissions out, so that a `chmod` sends nothing;
 * ours include them.
 */
export function blobIdOf(members: readonly Member[], including: "modes" | "contents"): string {
  const sorted = members
    .map((member) => ({ ...member, bytes: Buffer.from(member.name) }))
    .sort((one, other) => Buffer.compare(one.bytes, other.bytes));
  const hash = createHash("sha256");
  for (const { bytes, mode, digest } of sorted) {
    hash.update(bytes).update(digest);
    if (including === "modes") hash.update(`${mode.toString(8)}\n`);
  }
  return hash.digest("hex");
}
