import { fail } from "../../common/errors.ts";
import { headerNames, product, protocol } from "../../common/product.ts";

/** The headers of a request, by lower-case name. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** In lower case, so that a header replaces what was set before. */
const namesOf = (suffix: string) => headerNames(suffix).map((name) => name.toLowerCase());

/** Makes one header under both of its names. */
function both(suffix: string): (ours: string, protocols?: string) => Record<string, string> {
  const [ourName = "", theirName = ""] = namesOf(suffix);
  return (ours, protocols = ours) => ({ [ourName]: ours, [theirName]: protocols });
}

/** Versions of ours that every answer carries, under both spellings of each header. */
export const versionHeaders: Readonly<Record<string, string>> = {
  ...both("API-Version")(String(protocol.apiVersion)),
  ...both("Version")(product.version, protocol.version),
};

/** The id of a stored request, under both spellings of its header. */
export const requestIdHeaders: (id: string) => Record<string, string> = both("Request-ID");

/** Whose text `/api/stream` sends: the id or prefix exactly as the client wrote it. */
export const streamIdHeaders: (asked: string) => Record<string, string> = both("Stream-Request-ID");

/**
 * The API number of a client; undefined when it names none, as browsers and uploads do not.
 * Throws `ValueError` when it is not a whole number.
 */
export function clientVersionOf(headers: Headers): number | undefined {
  const text = statedVersion(headers);
  if (text === undefined) return undefined;
  return (
    numberIn(text) ??
    fail(
      "ValueError",
      `the API version of the client must be a whole number, not ${JSON.stringify(text)}; leave the header out if unsure`,
    )
  );
}

/** The API number of a client; undefined when it names none that we can read. */
export function findClientVersion(headers: Headers): number | undefined {
  const text = statedVersion(headers);
  return text === undefined ? undefined : numberIn(text);
}

/** Whether a client knows only the protocol's own name of the header with its version. */
export const isExistingClient = (headers: Headers): boolean =>
  headers[ourVersion] === undefined && headers[theirVersion] !== undefined;

const [ourVersion = "", theirVersion = ""] = namesOf("API-Version");

/** The API number under the first name of its header that has one, as the client wrote it. */
const statedVersion = (headers: Headers): string | undefined =>
  [headers[ourVersion], headers[theirVersion]].find((value) => typeof value === "string");

const numberIn = (text: string): number | undefined =>
  /^\d{1,6}$/.test(text) ? Number(text) : undefined;

/** The body of the 400 for a client too old for us, undefined for one we can serve. */
export function versionMismatch(
  clientVersion: number | undefined,
): { error: "version_mismatch"; message: string } | undefined {
  if (clientVersion === undefined || clientVersion >= protocol.minApiVersion) return undefined;
  const message = `this client speaks API version ${clientVersion}, but ${product.title} needs ${protocol.minApiVersion} or newer; upgrade the client`;
  return { error: "version_mismatch", message };
}
