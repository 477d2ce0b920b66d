import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { AppError, type ErrorType, fail, messageOf } from "../../common/errors.ts";
import type { Probed, Source } from "../../contract/files-api.ts";

// Imported the usual way, `node:http` also loads its WebSocket and with it 9 MB.
const http = process.getBuiltinModule("node:http");

/** How long nothing may come from a source. */
const silenceMs = 60_000;
const mostRedirects = 5;

/** Trouble with a source that passes: it is busy, or the way to it is broken. */
export class PassingTrouble extends Error {
  /** When the source wants to be asked again, if it says so. */
  readonly afterMs: number | undefined;

  constructor(message: string, afterMs?: number, cause?: unknown) {
    super(message, { cause });
    this.afterMs = afterMs;
  }
}

/** Size and version of what is at a source. Throws as `openSource`. */
export async function probeSource(source: Source, signal: AbortSignal): Promise<Probed> {
  const res = await openSource(source, { offset: 0, end: 1 }, signal).catch((error: unknown) => {
    if (!(error instanceof PassingTrouble)) throw error;
    throw new AppError("StorageError", error.message, {}, error);
  });
  res.destroy();
  const { size, version } = factsOf(res);
  if (size === undefined) fail("StorageError", `${source.name}: its server does not tell its size`);
  return { size, version, hasRanges: res.statusCode !== 200 };
}

/** Size and version of the whole, as an answer tells them, also one with a part of it. */
export function factsOf({ statusCode, headers }: IncomingMessage) {
  const size =
    statusCode === 200 ? headers["content-length"] : headers["content-range"]?.split("/")[1];
  const version = headers.etag ?? headers["last-modified"] ?? null;
  return { size: size !== undefined && /^\d+$/.test(size) ? Number(size) : undefined, version };
}

/** Whether a store encrypts an object with a key of its user's: its ETag is not its MD5 then. */
export const isEncrypted = ({ headers }: IncomingMessage): boolean =>
  `${headers["x-amz-server-side-encryption"]}`.startsWith("aws:") ||
  Object.keys(headers).some((name) =>
    /^x-(amz-.*-customer|goog)-(algorithm|encryption)/.test(name),
  );

/**
 * The answer of a source with some of its bytes, or with all where it does not serve parts. Throws
 * `PassingTrouble`, `NotFoundError`, `PermissionDeniedError`, or else `StorageError`.
 */
export async function openSource(
  source: Source,
  { offset, end }: { offset: number; end: number },
  signal: AbortSignal,
): Promise<IncomingMessage> {
  let { url, headers } = { ...source, url: new URL(source.url) };
  for (let hop = 0; hop <= mostRedirects; hop += 1) {
    const range = `bytes=${offset}-${end - 1}`;
    const res = await ask(
      source,
      url,
      { ...headers, range, "accept-encoding": "identity" },
      signal,
    );
    const { statusCode: status = 0, headers: told } = res;
    const isEmpty = status === 416 && told["content-range"]?.endsWith("/0");
    if (status === 200 || status === 206 || isEmpty) return res;
    if (status < 300 || status >= 400 || told.location === undefined) return refuse(source, res);
    res.destroy();
    const next = new URL(told.location, url);
    if (
      !/^https?:$/.test(next.protocol) ||
      (url.protocol === "https:" && next.protocol === "http:")
    )
      fail("StorageError", `${source.name}: its server redirects to an address that is not secure`);
    // A key is for the server that it was given for.
    if (next.origin !== url.origin) headers = {};
    url = next;
  }
  return fail("StorageError", `${source.name}: its server redirects too often`);
}

async function ask(
  { name }: Source,
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { request } = url.protocol === "http:" ? http : process.getBuiltinModule("node:https");
  const req = request(url, { headers, signal, timeout: silenceMs });
  req.on("timeout", () => req.destroy(new Error(`no data for ${silenceMs / 1_000} s`)));
  // What comes after the answer is told by its body.
  req.on("error", () => {}).end();
  try {
    const [res]: IncomingMessage[] = await once(req, "response");
    if (res !== undefined) return res;
  } catch (error) {
    signal.throwIfAborted();
    const why = messageOf(error);
    throw new PassingTrouble(`${name} cannot be reached: ${why}`, undefined, error);
  }
  throw new PassingTrouble(`${name} does not answer`);
}

const refusals: Readonly<Record<number, { type: ErrorType; why: string }>> = {
  401: { type: "PermissionDeniedError", why: "refuses access; pass credentials that may read it" },
  403: { type: "PermissionDeniedError", why: "refuses access; pass credentials that may read it" },
  404: { type: "NotFoundError", why: "is not there" },
  410: { type: "NotFoundError", why: "is not there any more" },
};
const passing = new Set([408, 425, 429, 500, 502, 503, 504]);

async function refuse({ name }: Source, res: IncomingMessage): Promise<never> {
  const { statusCode: status = 0, headers } = res;
  const said = [status, await codeIn(res)].filter(Boolean).join(" ");
  if (passing.has(status)) {
    const seconds = Number(headers["retry-after"]);
    throw new PassingTrouble(`${name} is not available (${said})`, seconds * 1_000 || undefined);
  }
  const { type, why } = refusals[status] ?? { type: "StorageError", why: "cannot be read" };
  return fail(type, `${name} ${why} (${said})`);
}

const codeBytes = 4_096;

/** The code that a store gives in its error, such as `NoSuchBucket`. */
async function codeIn(res: IncomingMessage): Promise<string | undefined> {
  let text = "";
  try {
    for await (const chunk of res.setEncoding("utf8")) {
      text += chunk;
      if (text.length > codeBytes) break;
    }
  } catch {
    // The status says enough.
  }
  return /<Code>(\w{1,80})<\/Code>/.exec(text)?.[1];
}
