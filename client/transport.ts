import type { Duplex } from "node:stream";
import { Agent, request } from "undici";
import { type Method, queryOf } from "../common/operation.ts";
import { headerNames, product, protocol } from "../common/product.ts";
import type { Secret } from "../common/secret.ts";
import { trustAt } from "./endpoint.ts";
import { failureOf, foreign, unreachable } from "./failures.ts";

export interface Question {
  readonly method: Method;
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly json?: unknown;
  /** A body in place of JSON. */
  readonly bytes?: { readonly type: string; readonly content: Uint8Array };
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for the answer's head; for ever when absent. */
  readonly timeoutMs?: number;
}

/** An answer with status 200. */
export interface Answer {
  /** A header of ours under either of its names, such as `Request-ID`. */
  named(suffix: string): string | undefined;
  header(name: string): string | undefined;
  readonly body: AsyncIterable<Uint8Array>;
  text(): Promise<string>;
}

/** The connection to one control plane. */
export interface Transport {
  /** Sends one HTTP request; throws an AppError for every answer but 200 and for broken connections. */
  send(question: Question): Promise<Answer>;
  /** Opens a WebSocket; throws as `send` does. */
  connect(path: string, signal: AbortSignal): Promise<Duplex>;
  close(): Promise<void>;
}

/** Opens a transport; nothing is connected before the first question. */
export function openTransport(endpoint: string, token?: Secret): Transport {
  const connect = { timeout: 5_000, ...trustAt(endpoint) };
  const agent = new Agent({ connect, headersTimeout: 0, bodyTimeout: 0 });
  const own = { ...ownHeaders(), ...(token && { authorization: `Bearer ${token.reveal()}` }) };
  return {
    async send({ method, path, query = {}, json, bytes, signal, timeoutMs = 0 }) {
      const url = new URL(`${endpoint}${path}`);
      for (const [name, value] of queryOf(query)) url.searchParams.append(name, value);
      const type = json === undefined ? bytes?.type : "application/json";
      const headers = type === undefined ? own : { ...own, "content-type": type };
      const body = json === undefined ? (bytes?.content ?? null) : JSON.stringify(json);
      const answer = await request(url, {
        ...{ method, headers, body, dispatcher: agent, headersTimeout: timeoutMs },
        ...(signal && { signal }),
      }).catch((error) => throwUnreachable(endpoint, error));
      const text = () => answer.body.text().catch((error) => throwUnreachable(endpoint, error));
      const header = (name: string) => firstOf(answer.headers[name.toLowerCase()]);
      const named = (suffix: string) => headerNames(suffix).map(header).find(Boolean);
      const { statusCode: status } = answer;
      if (status !== 200) {
        const told = { requestId: named("Request-ID"), retryAfter: header("retry-after") };
        throw failureOf({ endpoint, status, text: await text(), ...told });
      }
      if (header("content-type")?.startsWith("text/html"))
        throw foreign(endpoint, status, await text());
      return { header, named, text, body: readable(endpoint, answer.body) };
    },
    async connect(path, signal) {
      const { connectSocket } = await import("./websocket.ts");
      return connectSocket(new URL(`${endpoint}${path}`), own, signal);
    },
    close: () => agent.destroy(),
  };
}

function ownHeaders(): Record<string, string> {
  const versions = headerNames("API-Version").map((name) => [name, String(protocol.apiVersion)]);
  const releases = headerNames("Version").map((name) => [name, protocol.version]);
  return {
    "user-agent": `${product.word}/${product.version}`,
    ...Object.fromEntries([...versions, ...releases]),
  };
}

async function* readable(endpoint: string, body: AsyncIterable<Uint8Array>) {
  try {
    yield* body;
  } catch (error) {
    throwUnreachable(endpoint, error);
  }
}

function throwUnreachable(endpoint: string, error: unknown): never {
  if (error instanceof Error && error.name === "AbortError") throw error;
  throw unreachable(endpoint, error);
}

const firstOf = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value);
