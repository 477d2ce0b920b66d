import { fail } from "../../common/errors.ts";
import { headerNames, product, protocol } from "../../common/product.ts";

/** The headers of a request, by lower-case name. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** One header under both of its names, in lower case so that it replaces what was set before. */
const both = (suffix: string, [ours, protocols]: readonly [string, string]) =>
  headerNames(suffix).map((name, index) => [name.toLowerCase(), index === 0 ? ours : protocols]);

const same = (value: string) => [value, value] as const;

/** Versions of ours that every answer carries, under both spellings of each header. */
export const versionHeaders: Readonly<Record<string, string>> = Object.fromEntries([
  ...both("API-Version", same(String(protocol.apiVersion))),
  ...both("Version", [product.version, protocol.version]),
]);

/** The id of a stored request, under both spellings of its header. */
export const requestIdHeaders = (id: string): Record<string, string> =>
  Object.fromEntries(both("Request-ID", same(id)));

/** Whose text `/api/stream` sends: the id or prefix exactly as the client wrote it. */
export const streamIdHeaders = (asked: string): Record<string, string> =>
  Object.fromEntries(both("Stream-Request-ID", same(asked)));

/**
 * The API number of a client; undefined when it names none, as browsers and uploads do not.
 * Throws `ValueError` when it is not a whole number.
 */
export function clientVersionOf(headers: Headers): number | undefined {
  const text = statedVersions(headers).find((value) => typeof value === "string");
  if (text === undefined) return undefined;
  return (
    findClientVersion(headers) ??
    fail(
      "ValueError",
      `the API version of the client must be a whole number, not ${JSON.stringify(text)}; leave the header out if unsure`,
    )
  );
}

/** The API number of a client; undefined when it names none that we can read. */
export function findClientVersion(headers: Headers): number | undefined {
  const text = statedVersions(headers).find((value) => typeof value === "string");
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}

/** Whether a client knows only the protocol's own name of the header with its version. */
export function isExistingClient(headers: Headers): boolean {
  const [ours, protocols] = statedVersions(headers);
  return ours === undefined && protocols !== undefined;
}

/** The API number under each name of its header, ours first, as the client wrote it. */
const statedVersions = (headers: Headers) =>
  headerNames("API-Version").map((name) => headers[name.toLowerCase()]);

/** The body of the 400 for a client too old for us, undefined for one we can serve. */
export function versionMismatch(
  clientVersion: number | undefined,
): { error: "version_mismatch"; message: string } | undefined {
  if (clientVersion === undefined || clientVersion >= protocol.minApiVersion) return undefined;
  const message = `this client speaks API version ${clientVersion}, but ${product.title} needs ${protocol.minApiVersion} or newer; upgrade the client`;
  return { error: "version_mismatch", message };
}
