import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Changes } from "../../common/changes.ts";
import { requestKey } from "./schema.ts";

/** What requests printed: a file each, appended to, followed by any number of readers. */
export interface RequestLogs {
  append(id: string, text: string): void;
  /** Everything so far. */
  read(id: string): string;
  /** The file of a request; it may not exist. */
  fileOf(id: string): string;
  remove(id: string): Promise<void>;
}

/** Opens the folder of the logs. */
export function openRequestLogs(folder: string, changes: Changes): RequestLogs {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const fileOf = (id: string) => join(folder, `${id}.log`);
  return {
    append(id, text) {
      appendFileSync(fileOf(id), text, { mode: 0o600 });
      changes.notify(requestKey(id));
    },
    read: (id) => (existsSync(fileOf(id)) ? readFileSync(fileOf(id), "utf8") : ""),
    fileOf,
    remove: (id) => rm(fileOf(id), { force: true }),
  };
}
