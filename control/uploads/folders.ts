import { join } from "node:path";

/** Files that a user uploaded: contents by their digest, and lists of what lies where. */
export interface Shelf {
  /** A content a file, by its digest. */
  readonly contents: string;
  /** A manifest a blob, by its id. */
  readonly blobs: string;
  /** A folder an upload that is not complete yet. */
  readonly parts: string;
  /** The manifest of everything that came without a blob's id. */
  readonly merged: string;
}

/** Where a user's files lie. */
export function shelfOf(root: string, userId: string): Shelf {
  const folder = join(root, encodeURIComponent(userId), "files");
  return {
    contents: join(folder, "contents"),
    blobs: join(folder, "blobs"),
    parts: join(folder, "parts"),
    merged: join(folder, "merged"),
  };
}

/** The manifest of a blob, or of what came without one. */
export const manifestOf = (shelf: Shelf, blobId: string | null): string =>
  blobId === null ? shelf.merged : join(shelf.blobs, blobId);
