import { watch } from "node:fs";
import { errorCodeOf } from "../common/errors.ts";

/** Where nothing says that something changed, it is looked for so often. */
const pollMs = 500;

/** Says when a file grows: one watcher a file, however many wait for it. */
export interface Watches {
  /** Starts to watch; call the answer to stop. */
  add(path: string): () => void;
}

/** `changed` is told the path of a watched file that was written to. */
export function openWatches(changed: (path: string) => void): Watches {
  const open = new Map<string, { close: () => void; users: number }>();
  return {
    add(path) {
      const row = open.get(path) ?? { close: watchPath(path, () => changed(path)), users: 0 };
      open.set(path, row);
      row.users += 1;
      return () => {
        row.users -= 1;
        if (row.users > 0) return;
        row.close();
        open.delete(path);
      };
    },
  };
}

/**
 * Tells of changes of a file, or in a folder and then of what, until the answer is called. A user has
 * so many watchers in all and jobs may have them: without one it says now and then that there may be a
 * change. Throws for a path that is not there.
 */
export function watchPath(path: string, changed: (name: string | null) => void): () => void {
  try {
    const watcher = watch(path, (_, name) => changed(name));
    return () => watcher.close();
  } catch (error) {
    if (!["EMFILE", "ENFILE", "ENOSPC", "ENOMEM"].includes(errorCodeOf(error) ?? "")) throw error;
    const timer = setInterval(changed, pollMs, null);
    return () => clearInterval(timer);
  }
}
