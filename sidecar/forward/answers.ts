import { bytesOf } from "../bytes.ts";
import { type Refusal, refusals } from "../refusals.ts";
import type { Method } from "../request-head.ts";

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

/** How the body of an answer of ours is written. */
export const errorStyles = ["plain", "openai"] as const;
export type ErrorStyle = (typeof errorStyles)[number];

const bodies: Record<ErrorStyle, (refusal: Refusal) => object> = {
  plain: (refusal) => ({ error: saying[refusal] ?? reasons[refusals[refusal].status] ?? "" }),
  // Source: the error object of the OpenAI API, of which its clients read these four fields.
  openai(refusal) {
    const { status, means: message } = refusals[refusal];
    const type = status < 500 ? "invalid_request_error" : "server_error";
    const code = status === 401 ? "invalid_api_key" : snakeCase(refusal);
    return { error: { message, type, param: null, code } };
  },
};

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function answerOf(refusal: Refusal, style: ErrorStyle): OwnAnswer {
  const { status } = refusals[refusal];
  const body = JSON.stringify(bodies[style](refusal));
  const head =
    `HTTP/1.1 ${status} ${reasons[status] ?? ""}\r\ncontent-type: application/json\r\n` +
    `${extraLines[refusal] ?? ""}content-length: ${body.length}\r\n`;
  return {
    stays: bytesOf(`${head}\r\n${body}`),
    closes: bytesOf(`${head}connection: close\r\n\r\n${body}`),
    staysBare: bytesOf(`${head}\r\n`),
    closesBare: bytesOf(`${head}connection: close\r\n\r\n`),
  };
}

/** What a refused request is answered: for HEAD without a body. */
export type OwnAnswerTo = (refusal: Refusal, method: Method, staysOpen: boolean) => Buffer;

/** The answers to refused requests in one style, made once. */
export function ownAnswersIn(style: ErrorStyle): OwnAnswerTo {
  const ownAnswers = Object.fromEntries(
    (Object.keys(refusals) as Refusal[]).map((refusal) => [refusal, answerOf(refusal, style)]),
  ) as Record<Refusal, OwnAnswer>;
  return (refusal, method, staysOpen) => {
    const { stays, closes, staysBare, closesBare } = ownAnswers[refusal];
    if (method === "HEAD") return staysOpen ? staysBare : closesBare;
    return staysOpen ? stays : closes;
  };
}
