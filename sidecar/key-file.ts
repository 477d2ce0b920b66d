import { fail } from "../common/errors.ts";
import { bytesOf } from "./bytes.ts";
import type { Key } from "./keys.ts";

/**
 * Reads keys, one a line; empty lines and lines that begin with `#` are skipped:
 *
 *     KEY [id=NAME] [expires=2027-01-31T00:00:00Z] [note=the rest of the line]
 *
 * KEY is the key itself or `sha256:`, in any case, and the 64 hexadecimal digits of its SHA-256.
 * `source` names the keys that have no id. Throws `ConfigError`, which never shows the line.
 */
export function parseKeys(text: string, source: string): Key[] {
  const lines = text
    .split(/\r?\n/)
    .map((line, index) => ({ text: line.trim(), number: index + 1 }));
  const used = lines.filter((line) => line.text !== "" && !line.text.startsWith("#"));
  const keys = used.map(({ text: line, number }) => {
    const name = used.length === 1 ? source : `${source}:${number}`;
    return parseLine(line, name, `line ${number} of the keys in ${source}`);
  });
  return checkIds(keys, source);
}

const shape = /^(?<secret>\S+)(?<fields>(?:\s+(?:id|expires)=\S+)*)(?:\s+note=(?<note>.*))?$/;

function parseLine(line: string, name: string, where: string): Key {
  const { secret = "", fields = "", note } = shape.exec(line)?.groups ?? {};
  if (secret === "") fail("ConfigError", `${where} is not \`KEY [id=] [expires=] [note=]\``);
  const given = new Map(
    fields
      .trim()
      .split(/\s+/)
      .map((field) => [field.replace(/=.*/, ""), field.replace(/^\w*=/, "")]),
  );
  const expires = given.get("expires");
  const expiresAt = expires === undefined ? undefined : new Date(expires);
  if (expiresAt !== undefined && Number.isNaN(expiresAt.getTime()))
    fail("ConfigError", `expires in ${where} is not a time like 2027-01-31T00:00:00Z`);
  return { id: given.get("id") ?? name, secret: parseSecret(secret, where), expiresAt, note };
}

function parseSecret(secret: string, where: string): Key["secret"] {
  if (/^(id|expires|note)=/i.test(secret))
    fail(
      "ConfigError",
      `${where} has no key before its first field; write \`KEY [id=] [expires=]\``,
    );
  if (/^sha-?\d+[:=]/i.test(secret)) {
    const [, digits] = /^sha256:([0-9a-f]{64})$/i.exec(secret) ?? [];
    if (digits === undefined)
      fail("ConfigError", `the digest in ${where} must be \`sha256:\` and 64 hexadecimal digits`);
    return { sha256: Buffer.from(digits, "hex") };
  }
  if (!/^[\x21-\x7e]+$/.test(secret))
    fail("ConfigError", `the key in ${where} must be visible ASCII`);
  return { plain: bytesOf(secret) };
}

function checkIds(keys: Key[], source: string): Key[] {
  const ids = keys.map(({ id }) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) fail("ConfigError", `two keys in ${source} have the id ${twice}`);
  return keys;
}
