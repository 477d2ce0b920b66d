import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { listProcesses } from "../../common/process-tree.ts";

/** The files below these folders, and the command lines of all processes, that hold a text. */
export function findLeaks(secret: string, ...folders: readonly string[]): string[] {
  const commands = listProcesses().map(({ pid }) => `/proc/${pid}/cmdline`);
  const places = [...folders.flatMap(filesBelow), ...commands];
  return places.filter((file) =>
    orIfGone(() => readFileSync(file), Buffer.alloc(0)).includes(secret),
  );
}

const filesBelow = (folder: string): string[] =>
  orIfGone(() => readdirSync(folder, { withFileTypes: true }), []).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() ? [path] : [];
  });

/** Files, folders and processes may go while they are looked at. */
function orIfGone<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}
