import type { IncomingMessage } from "node:http";
import { errorCodeOf } from "../../common/errors.ts";
import type { ProbePlan } from "../../contract/balancer-api.ts";

/** Where a replica is reached. */
export interface Place {
  readonly host: string;
  readonly port: number;
}

/** What is told of failures, in words; all others by their code. */
const problems: Readonly<Record<string, string>> = {
  ECONNREFUSED: "refused",
  ECONNRESET: "reset",
  ABORT_ERR: "timeout",
  ETIMEDOUT: "timeout",
};

/**
 * Asks a replica once, over a connection of its own: null when its answer is good, else what was
 * wrong, without anything of what it said. A certificate is not checked: the address is control's.
 */
export async function ask(
  probe: ProbePlan,
  place: Place,
  stop: AbortSignal,
): Promise<string | null> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(probe.timeoutMs)]);
  try {
    const status = await statusOf(probe, place, signal);
    const isGood = probe.expectedStatus.some(([from, to]) => status >= from && status <= to);
    return isGood ? null : String(status);
  } catch (error) {
    return problemOf(error);
  }
}

function problemOf(error: unknown): string {
  const code = errorCodeOf(error);
  if (code === undefined) return "invalid";
  if (code.startsWith("HPE_")) return "invalid";
  return problems[code] ?? code.toLowerCase();
}

/** The status of the answer; its body is read to its end, or as long as there is time, and dropped. */
function statusOf(probe: ProbePlan, place: Place, signal: AbortSignal): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  // Imported the usual way, `node:http` also loads its WebSocket and with it 9 MB.
  const { request } = process.getBuiltinModule(
    probe.scheme === "https" ? "node:https" : "node:http",
  );
  const { method, path, headers, body } = probe;
  const tls = { rejectUnauthorized: false };
  request({
    ...place,
    ...tls,
    method,
    path,
    headers: headersOf(headers, body),
    agent: false,
    signal,
  })
    .on("error", reject)
    // Without a word of an error where it answers by another protocol.
    .once("close", () => reject(new Error("no answer")))
    .once("response", (answer: IncomingMessage) => {
      resolve(answer.statusCode ?? 0);
      answer.on("error", () => {}).resume();
    })
    .end(body ?? undefined);
  return promise;
}

function headersOf(headers: ProbePlan["headers"], body: string | null): Record<string, string> {
  if (body === null) return headers;
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === "content-type");
  return hasType ? headers : { "Content-Type": "application/json", ...headers };
}
