import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { AppError, errorCodeOf, fail, isErrorType } from "../../common/errors.ts";
import { limited, readAll } from "../../common/limited.ts";
import {
  bareStream,
  type GivenInputOf,
  type Operation,
  type OutputOf,
  toHttpCall,
} from "../../common/operation.ts";

/** Calls an agent by the rows of its API. Throws its errors, or `UnreachableError`. */
export interface Agent {
  call<Op extends Operation>(
    row: Op,
    input: GivenInputOf<Op>,
    options?: CallOptions,
  ): Promise<OutputOf<Op>>;
  /**
   * The answer of a `stream` row. The caller reads it to its end or destroys it; an abort of the signal also
   * destroys it, unless the row `staysOpen`.
   */
  open<Op extends Operation>(
    row: Op,
    input: GivenInputOf<Op>,
    signal: AbortSignal,
    bytes?: Readable,
  ): Promise<{ headers: Record<string, string>; body: Readable }>;
}

export interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
  /** The bytes of a row that takes no JSON. */
  bytes?: Uint8Array | Readable;
}

type Bytes = NonNullable<CallOptions["bytes"]>;

const usualTimeoutMs = 10_000;
const mebibyte = 2 ** 20;
/** What an agent may answer: a node belongs to its user. */
const answerAtMost = 64 * mebibyte;
const errorAtMost = mebibyte;

/** Who answers behind a door; `name` says in errors who that is: `the agent of node 0 of a`. */
export function agentBehind(door: Dispatcher, name: string): Agent {
  async function send(row: Operation, input: unknown, signal: AbortSignal, bytes?: Bytes) {
    const { method, path, body } = toHttpCall(row, input as Record<string, unknown>);
    const type = bytes === undefined ? "application/json" : row.input.rawBody;
    const sent = bytes ?? (body === undefined ? undefined : JSON.stringify(body));
    const headers = sent === undefined ? {} : { "content-type": type ?? "" };
    const answer = await door
      .request({ method, path, headers, body: sent ?? null, signal })
      .catch((error: unknown) => unreachable(error, signal, name));
    if (answer.statusCode >= 400)
      throw errorOf(await textOf(answer, errorAtMost, name), answer.statusCode);
    return answer;
  }

  /** Returns undefined where the agent answers with HTTP: it refuses, or is an older one. */
  async function openBare(row: Operation, input: unknown, signal: AbortSignal) {
    const { method, path } = toHttpCall(row, input as Record<string, unknown>);
    const upgrade = { method, path, protocol: bareStream, signal };
    const answer = await door
      .upgrade(upgrade)
      .catch((error: unknown) =>
        isNoUpgrade(error) ? undefined : unreachable(error, signal, name),
      );
    return answer?.socket;
  }

  return {
    call: (row, input, { signal, timeoutMs = usualTimeoutMs, bytes } = {}) =>
      limited(timeoutMs, signal, async (until) => {
        const answer = await send(row, input, until, bytes);
        const text = await textOf(answer, answerAtMost, name).catch((error: unknown) =>
          unreachable(error, until, name),
        );
        return readJson(text, name) as never;
      }),
    async open(row, input, signal, bytes) {
      const bare = row.staysOpen && (await openBare(row, input, signal));
      if (bare) return { headers: {}, body: bare };
      const { headers, body } = await send(row, input, signal, bytes);
      return { headers: headers as Record<string, string>, body };
    },
  };
}

/** The text of an answer; throws `UnreachableError` for one of more bytes than allowed. */
async function textOf(
  { headers, body }: Dispatcher.ResponseData,
  bytesAtMost: number,
  name: string,
): Promise<string> {
  // Read at once, an answer of known length takes half as long.
  if (Number(headers["content-length"]) <= bytesAtMost) return body.text();
  const bytes = await readAll(body, bytesAtMost, () =>
    fail("UnreachableError", `${name} answers with more than ${bytesAtMost / mebibyte} MiB`),
  );
  return bytes.toString();
}

function readJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AppError("UnreachableError", `${name} sent an answer that is not JSON`, {}, error);
  }
}

const notServed =
  "it is not running; if it does not come back, see the log of the agent on the node";

/** There is no socket, or nothing listens on it. */
const isNotServed = (error: unknown): boolean =>
  ["ECONNREFUSED", "ENOENT"].includes(errorCodeOf(error) ?? "");

/** The answer was not 101. Undici has the same code for lost connections. */
const isNoUpgrade = (error: unknown): boolean =>
  error instanceof Error && error.message === "bad upgrade";

function unreachable(error: unknown, signal: AbortSignal, name: string): never {
  if (signal.reason instanceof AppError) throw signal.reason;
  if (error instanceof AppError) throw error;
  const why = isNotServed(error)
    ? notServed
    : error instanceof Error
      ? error.message
      : String(error);
  throw new AppError("UnreachableError", `${name} does not answer: ${why}`, {}, error);
}

function errorOf(text: string, status: number): AppError {
  try {
    const { type, message, details } = JSON.parse(text);
    return new AppError(isErrorType(type) ? type : "InternalError", message, details ?? {});
  } catch {
    fail("InternalError", `an agent answered ${status}: ${text.slice(0, 200)}`);
  }
}
