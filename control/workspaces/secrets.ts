import { isDeepStrictEqual } from "node:util";
import { fail } from "../../common/errors.ts";
import { fieldOf, type Path } from "../../contract/task/issues.ts";

const mask = "[secret]";

/** Keys whose values are secrets, at any depth below them. */
const secretKey = /(password|passwd|secret|token|credential|api_?key|access_?key|private_?key)s?$/i;
/** An address with a password in it. */
const secretAddress = /^[a-z][\w+.-]*:\/\/[^\s/@]*:[^\s/@]+@/i;

type Value = unknown;
type Fields = Readonly<Record<string, Value>>;

const isFields = (value: Value): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A document with the values of its secrets as `[secret]`. */
export function masked<T>(value: T, isSecret?: boolean): T;
export function masked(value: Value, isSecret = false): Value {
  if (Array.isArray(value)) return value.map((item) => masked(item, isSecret));
  if (isFields(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [
        key,
        masked(one, isSecret || secretKey.test(key)),
      ]),
    );
  if (typeof value === "string" && secretAddress.test(value)) return mask;
  return isSecret && value !== null && typeof value !== "boolean" ? mask : value;
}

/**
 * A document that came back masked, with the secrets that it had. Items of lists are known by what
 * else they have. Throws `ValueError` for a `[secret]` that stands for nothing.
 */
export function unmasked<T>(given: T, before: Value, path?: Path): T;
export function unmasked(given: Value, before: Value, path: Path = []): Value {
  if (given === mask) {
    if (typeof before === "string" || typeof before === "number") return before;
    fail(
      "ValueError",
      `${fieldOf(path)}: ${mask} keeps a secret, and there is none; write its value`,
    );
  }
  if (Array.isArray(given)) {
    const items = Array.isArray(before) ? before : [];
    return given.map((item, at) =>
      unmasked(item, itemBefore(item, at, items, given), [...path, at]),
    );
  }
  if (!isFields(given)) return given;
  const fields = isFields(before) ? before : {};
  return Object.fromEntries(
    Object.entries(given).map(([key, value]) => [
      key,
      unmasked(value, Object.hasOwn(fields, key) ? fields[key] : undefined, [...path, key]),
    ]),
  );
}

/** What an item of a list was: another one may stand at its place now. */
function itemBefore(item: Value, at: number, items: readonly Value[], given: readonly Value[]) {
  if (item === mask) return items.length === given.length ? items[at] : undefined;
  return items.find((one) => isDeepStrictEqual(masked(one), item));
}
