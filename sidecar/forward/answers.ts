import { bytesOf } from "../bytes.ts";
import type { Method } from "../head.ts";
import { type Refusal, refusals } from "../refusals.ts";

/** One of the sidecar's own answers, whole, in each of its forms. */
interface OwnAnswer {
  readonly stays: Buffer;
  readonly closes: Buffer;
  readonly staysBare: Buffer;
  readonly closesBare: Buffer;
}

const reasons: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  405: "Method Not Allowed",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

const extraLines: Partial<Record<Refusal, string>> = {
  unauthorized: "WWW-Authenticate: Bearer\r\n",
  connect: "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n",
  noUpstream: "Retry-After: 5\r\n",
};

/** What the usual phrase of a status does not tell. */
const saying: Partial<Record<Refusal, string>> = { noneToCome: refusals.noneToCome.means };

function answerOf(refusal: Refusal): OwnAnswer {
  const { status } = refusals[refusal];
  const reason = reasons[status] ?? "";
  const body = JSON.stringify({ error: saying[refusal] ?? reason });
  const head =
    `HTTP/1.1 ${status} ${reason}\r\ncontent-type: application/json\r\n` +
    `${extraLines[refusal] ?? ""}content-length: ${body.length}\r\n`;
  return {
    stays: bytesOf(`${head}\r\n${body}`),
    closes: bytesOf(`${head}connection: close\r\n\r\n${body}`),
    staysBare: bytesOf(`${head}\r\n`),
    closesBare: bytesOf(`${head}connection: close\r\n\r\n`),
  };
}

const ownAnswers = Object.fromEntries(
  (Object.keys(refusals) as Refusal[]).map((refusal) => [refusal, answerOf(refusal)]),
) as Record<Refusal, OwnAnswer>;

/** What a refused request is answered: for HEAD without a body. */
export function ownAnswerTo(refusal: Refusal, method: Method, staysOpen: boolean): Buffer {
  const { stays, closes, staysBare, closesBare } = ownAnswers[refusal];
  if (method === "HEAD") return staysOpen ? staysBare : closesBare;
  return staysOpen ? stays : closes;
}
