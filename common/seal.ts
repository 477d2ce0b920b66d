import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { errorCodeOf, fail } from "./errors.ts";
import { unlessMissing } from "./files.ts";

/** Turns text into bytes that only the holder of the key can read, and back. */
export interface Seal {
  seal(text: string): Buffer;
  /** The text again; throws `InternalError` when it was sealed with another key or changed. */
  open(sealed: Uint8Array): string;
}

const nonceBytes = 12;
const tagBytes = 16;
const keyBytes = 32;

/** A seal whose key lies in a file (mode 0600), made when it is missing. AES-256-GCM. */
export function openSeal(keyFile: string): Seal {
  // As raw bytes the key would be made ready anew for each text, which takes longer than sealing it.
  const key = createSecretKey(readKey(keyFile));
  return {
    seal(text) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", key, nonce);
      const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]);
    },
    open(sealed) {
      const bytes = Buffer.from(sealed);
      try {
        const nonce = bytes.subarray(0, nonceBytes);
        const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: tagBytes });
        decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
        const body = decipher.update(bytes.subarray(nonceBytes + tagBytes));
        return Buffer.concat([body, decipher.final()]).toString("utf8");
      } catch {
        fail("InternalError", `a stored secret cannot be read with the key in ${keyFile}`);
      }
    },
  };
}

function readKey(file: string): Buffer {
  const key = readOrMake(file, () => randomBytes(keyBytes));
  if (key.length === keyBytes) return key;
  fail("ConfigError", `${file} holds no key of ${keyBytes} bytes; put the right one back`);
}

/** What a file holds; one that is missing is made, whole and with mode 0600, by the first who tries. */
export function readOrMake(file: string, make: () => Buffer): Buffer {
  return unlessMissing(() => readFileSync(file)) ?? makeFile(file, make());
}

function makeFile(file: string, content: Buffer): Buffer {
  const draft = `${file}.${process.pid}`;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(draft, content, { mode: 0o600, flush: true });
  try {
    linkSync(draft, file);
  } catch (error) {
    if (errorCodeOf(error) !== "EEXIST") throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return readFileSync(file);
}
