import { createHash, randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { errorCodeOf } from "../common/errors.ts";
import { envOf } from "../common/product.ts";
import type { Settings } from "./settings.ts";

/** Who the caller is, as control is told where no login layer knows better. */
export interface Identity {
  readonly id: string;
  readonly name: string;
}

/** The caller; a hash that is made up the first time stays the same ever after. */
export function readIdentity({ home, userId, userName }: Settings): Identity {
  return { id: userId ?? storedHash(join(home, "user_hash")), name: userName };
}

/** The identity as the environment map that every body carries. */
export const callerEnv = ({ id, name }: Identity): Record<string, string> => ({
  ...envOf("USER_ID", id),
  ...envOf("USER", name),
});

function storedHash(file: string): string {
  const stored = readHash(file);
  if (stored !== undefined) return stored;
  const seed = `${hostname()} ${randomUUID()}`;
  const made = createHash("sha256").update(seed).digest("hex").slice(0, 8);
  publish(file, made);
  return readHash(file) ?? made;
}

function readHash(file: string): string | undefined {
  try {
    const text = readFileSync(file, "utf8").trim();
    return /^[0-9a-f]{8}$/.test(text) ? text : undefined;
  } catch (error) {
    if (errorCodeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Writes the file whole or not at all; of two callers at once the first one wins. */
function publish(file: string, text: string): void {
  const draft = `${file}.${randomUUID()}`;
  mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 });
  writeFileSync(draft, `${text}\n`, { mode: 0o600 });
  try {
    linkSync(draft, file);
  } catch (error) {
    if (errorCodeOf(error) !== "EEXIST") throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
