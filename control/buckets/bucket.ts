import type { Part } from "./parts.ts";

/** Something in a bucket. */
export interface StoredObject {
  readonly key: string;
  readonly size: number;
  /** Another one for another content. */
  readonly etag: string;
}

/**
 * What a store does for us. It throws only `PermissionDeniedError` (it refuses), `NotFoundError` (there is
 * no such bucket), `RateLimitError` (it is too busy, also after several tries) and `StorageError`.
 */
export interface Bucket {
  /** The object of a key; undefined when there is none. */
  find(key: string, signal: AbortSignal): Promise<StoredObject | undefined>;
  /** The objects whose keys begin with a text, in their order. */
  list(prefix: string, signal: AbortSignal): AsyncGenerator<StoredObject>;
  /** Where the holder of the address may read an object for a day. It is a secret. */
  addressOf(key: string): string;
  /** Whether the bucket exists, and has objects. */
  look(signal: AbortSignal): Promise<"missing" | "empty" | "filled">;
  /** Makes the bucket, if the keys have none of that name. Throws `ConflictError` where somebody else has it. */
  make(signal: AbortSignal): Promise<void>;
  /** Writes a file as an object, in place of one of that key. */
  write(key: string, file: string, parts: readonly Part[], signal: AbortSignal): Promise<void>;
  /** Deletes the bucket with all its objects. One that is gone already is a success. */
  destroy(signal: AbortSignal): Promise<void>;
}
