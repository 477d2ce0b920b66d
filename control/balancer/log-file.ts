import { renameSync, statSync } from "node:fs";
import type { pino } from "pino";
import { earlierLogOf } from "../../contract/balancer-api.ts";

export type Destination = ReturnType<typeof pino.destination>;

/**
 * Has destinations, of which the first writes at once, begin their file anew once it has so many bytes.
 * What it was is kept under another name until the next time.
 */
export function turnOver(
  file: string,
  bytesAtMost: number,
  destinations: readonly Destination[],
): void {
  let own = lookAt(file)?.ino;

  /** Another balancer, before or after this one, may have begun it anew. */
  function look(): void {
    const found = lookAt(file);
    const isOwn = found?.ino === own;
    if (isOwn && (found?.size ?? 0) < bytesAtMost) return;
    if (isOwn) renameSync(file, earlierLogOf(file));
    for (const destination of destinations) destination.reopen();
    own = lookAt(file)?.ino;
  }

  for (const destination of destinations)
    destination.on("write", () => {
      try {
        look();
      } catch {
        // It goes on where it is; the next write tries again.
      }
    });
}

const lookAt = (file: string) => statSync(file, { throwIfNoEntry: false });
