import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { fail } from "../common/errors.ts";
import { protocol } from "../common/product.ts";
import { readOrMake } from "../common/seal.ts";
import { Secret } from "../common/secret.ts";

/** Existing clients of this protocol send no other tokens than those that begin so. */
const prefix = `${protocol.requestPrefix}_`;
const tokenBytes = 32;

/**
 * The token in a file, made when it is missing: it lets in callers that are not our own user. Throws
 * `ConfigError` for a file that others can read, and for one that holds no token.
 */
export function openToken(file: string): Secret {
  const made = () => Buffer.from(`${prefix}${randomBytes(tokenBytes).toString("base64url")}\n`);
  const token = readOrMake(file, made).toString("utf8").trim();
  const why =
    (statSync(file).mode & 0o077) !== 0
      ? "can be read by others"
      : token.length < tokenBytes && "holds no token";
  if (why !== false)
    fail("ConfigError", `${file} ${why}; delete it; control creates a new one when it starts`);
  return new Secret(token);
}
