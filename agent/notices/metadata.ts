import { once } from "node:events";
import type { IncomingMessage } from "node:http";

// Imported the usual way, `node:http` also loads its WebSocket and with it 9 MB.
const { request } = process.getBuiltinModule("node:http");

const patienceMs = 5_000;
const largestBytes = 256 * 1024;

export interface Question {
  readonly method?: "GET" | "PUT";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** How long the whole answer may take. */
  readonly timeoutMs?: number;
}

export interface Answer {
  readonly status: number;
  readonly etag: string | undefined;
  readonly text: string;
}

/** Asks a metadata endpoint, whatever proxies there are; rejects when it does not answer in time. */
export async function ask(
  base: string,
  { method = "GET", path, headers, timeoutMs = patienceMs }: Question,
  signal: AbortSignal,
): Promise<Answer> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const req = request(new URL(path, base), { method, headers, signal: over, agent: false });
  // What comes after the answer is of no interest, but must not end the agent.
  req.on("error", () => {}).end();
  const [res]: IncomingMessage[] = await once(req, "response");
  if (res === undefined) throw new Error("there was no answer");
  return { status: res.statusCode ?? 0, etag: res.headers.etag, text: await readText(res) };
}

/** Throws for an answer that is not what the endpoint promises. */
export function refuse({ status, text }: Answer): never {
  throw new Error(`the endpoint answered ${status}: ${text.slice(0, 200)}`);
}

async function readText(res: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of res.setEncoding("utf8")) {
    text += chunk;
    if (text.length > largestBytes) throw new Error("the answer is too long");
  }
  return text;
}
