import { createHash } from "node:crypto";
import { readBootId } from "../../common/process-tree.ts";
import { findSetting, type Journal, putSetting } from "../journal.ts";

const setting = "last_setup";

/** Records which setup this node has completed last; null while one is under way. */
export const setLastSetup = (journal: Journal, setup: string | null): void =>
  putSetting(journal, setting, setup === null ? null : signatureOf(setup));

/** Whether this node has completed the same setup since it booted, and no other one after it. */
export const hasSetup = (journal: Journal, setup: string): boolean =>
  findSetting(journal, setting) === signatureOf(setup);

const signatureOf = (setup: string): string =>
  `${readBootId()} ${createHash("sha256").update(setup).digest("hex")}`;
