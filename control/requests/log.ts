import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Changes } from "../../common/changes.ts";
import { isNoRoom } from "../../common/files.ts";
import { requestKey } from "./schema.ts";

/** What requests printed: a file each, appended to, followed by any number of readers. */
export interface RequestLogs {
  /** Lines for which the disk has no room are left out, and a line says so once it has. */
  append(id: string, text: string): void;
  /** Everything so far. */
  read(id: string): string;
  /** The file of a request; it may not exist. */
  fileOf(id: string): string;
  remove(id: string): Promise<void>;
}

const gapLine = "\n[lines are missing here: the disk of control was full]\n";

/** Opens the folder of the logs. What requests printed that only read does not outlive control. */
export function openRequestLogs(
  folder: string,
  changes: Changes,
  isRead: (id: string) => boolean,
): RequestLogs {
  const ofReads = join(folder, "reads");
  rmSync(ofReads, { recursive: true, force: true });
  mkdirSync(ofReads, { recursive: true, mode: 0o700 });
  const fileOf = (id: string) => join(isRead(id) ? ofReads : folder, `${id}.log`);
  const hasGap = new Set<string>();
  return {
    append(id, text) {
      try {
        appendFileSync(fileOf(id), hasGap.has(id) ? gapLine + text : text, { mode: 0o600 });
        hasGap.delete(id);
      } catch (error) {
        if (!isNoRoom(error)) throw error;
        hasGap.add(id);
      }
      changes.notify(requestKey(id));
    },
    read: (id) => (existsSync(fileOf(id)) ? readFileSync(fileOf(id), "utf8") : ""),
    fileOf,
    async remove(id) {
      hasGap.delete(id);
      for (const place of [folder, ofReads]) await rm(join(place, `${id}.log`), { force: true });
    },
  };
}
