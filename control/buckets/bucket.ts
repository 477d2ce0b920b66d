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
}
