import { byte, bytesOf, equals } from "./bytes.ts";
import type { Keys } from "./keys.ts";
import type { RequestHead } from "./request-head.ts";

/**
 * Decides who is let through: the id of the key that was sent, an empty id for an open path, or
 * undefined. A path is open to GET and HEAD alone, and only as it is written, whatever its query.
 */
export function authorizeBy(keys: Keys, allowPath: readonly string[]) {
  const open = allowPath.map(bytesOf);
  return (head: RequestHead, bytes: Buffer): string | undefined => {
    const id = head.keyFrom < 0 ? undefined : keys.find(bytes, head.keyFrom, head.keyTo);
    return id ?? (isOpen(open, head, bytes) ? "" : undefined);
  };
}

function isOpen(open: readonly Buffer[], head: RequestHead, bytes: Buffer): boolean {
  if (open.length === 0 || (head.method !== "GET" && head.method !== "HEAD")) return false;
  const query = bytes.subarray(head.pathFrom, head.targetTo).indexOf(byte.question);
  const to = query < 0 ? head.targetTo : head.pathFrom + query;
  return open.some((path) => equals(bytes, head.pathFrom, to, path));
}
