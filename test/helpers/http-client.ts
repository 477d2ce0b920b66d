import { Pool } from "undici";
import { type GivenInputOf, type Operation, toHttpCall } from "../../common/operation.ts";

export interface HttpOptions {
  /** A text is sent as it is, anything else as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

export interface OpenAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: AsyncIterable<Buffer>;
}

/** Speaks HTTP to a control plane on a Unix socket, with these headers beside those of a call. */
export interface HttpClient {
  /** Any exchange. */
  http(method: string, path: string, options?: HttpOptions): Promise<Answer>;
  /** As `http`, its answer still open. */
  open(method: string, path: string, options?: HttpOptions): Promise<OpenAnswer>;
  /** A call of a row that is answered with 200; throws a `wireError` otherwise. */
  send<Op extends Operation>(row: Op, input: GivenInputOf<Op>): Promise<Answer>;
  close(): Promise<void>;
}

/** Only there to end a hang. */
const patienceMs = 120_000;

/** Opens no connection yet. */
export function openHttpClient(
  socketPath: string,
  always: Record<string, string> = {},
): HttpClient {
  const pool = new Pool("http://localhost", { connect: { socketPath }, bodyTimeout: 0 });

  async function open(method: string, path: string, options: HttpOptions = {}) {
    const { body, headers, signal = AbortSignal.timeout(patienceMs) } = options;
    const sent = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const answer = await pool.request({
      method: method as "GET",
      path,
      body: sent ?? null,
      headers: {
        ...(sent !== undefined && { "content-type": "application/json" }),
        ...always,
        ...headers,
      },
      signal,
    });
    const { statusCode: status, body: stream } = answer;
    return { status, headers: answer.headers as Record<string, string>, body: stream };
  }

  async function http(method: string, path: string, options?: HttpOptions): Promise<Answer> {
    const { status, headers, body } = await open(method, path, options);
    const text = await body.text();
    return {
      status,
      headers,
      text,
      get json() {
        return JSON.parse(text);
      },
    };
  }

  return {
    http,
    open,
    async send(row, input) {
      const { method, path, body } = toHttpCall(row, input as Record<string, unknown>);
      const answer = await http(method, path, { body });
      if (answer.status === 200) return answer;
      const { detail, type } = answer.json;
      const message = typeof detail === "string" ? detail : JSON.stringify(detail);
      throw wireError(String(type), message);
    },
    close: () => pool.destroy(),
  };
}

/** An error as the wire tells it. */
export const wireError = (type: string, message: string, details: object = {}): Error =>
  Object.assign(new Error(message), { type, details });
