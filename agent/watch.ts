import { type FSWatcher, watch } from "node:fs";

/** Says when a file grows: one watcher a file, however many wait for it. */
export interface Watches {
  /** Starts to watch; call the answer to stop. */
  add(path: string): () => void;
}

/** `changed` is told the path of a watched file that was written to. */
export function openWatches(changed: (path: string) => void): Watches {
  const open = new Map<string, { watcher: FSWatcher; users: number }>();
  return {
    add(path) {
      const row = open.get(path) ?? { watcher: watch(path, () => changed(path)), users: 0 };
      open.set(path, row);
      row.users += 1;
      return () => {
        row.users -= 1;
        if (row.users > 0) return;
        row.watcher.close();
        open.delete(path);
      };
    },
  };
}
