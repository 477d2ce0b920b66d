import type { FastifyReply } from "fastify";
import { type AppError, errorTypes, toAppError } from "../../common/errors.ts";
import { retryAfterOf } from "../../common/rate-limit.ts";
import type { Logger } from "../log.ts";
import { plainError } from "../wire/errors.ts";
import { readerOf, wordedFor } from "../wire/wording.ts";

/** Answers an error: `{"detail"}` with the HTTP status of its type, and its type for our clients. */
export function sendError(reply: FastifyReply, error: AppError, log: Logger): void {
  const { http } = errorTypes[error.type];
  const retryAfter = retryAfterOf(error);
  if (retryAfter !== undefined) reply.header("retry-after", retryAfter);
  if (http === 500) log.error({ err: error }, "request not answered");
  reply
    .code(http)
    .send({ detail: http === 422 ? issuesOf(error) : wordedIn(reply, error), type: error.type });
}

/** Answers an error 400, as existing clients rebuild it. Throws a bug of ours, which stays a 500. */
export function sendEncoded(reply: FastifyReply, error: unknown): FastifyReply {
  const known = toAppError(error);
  if (known.type === "InternalError") throw error;
  const { type, details } = known;
  const detail = plainError({ type, details, message: wordedIn(reply, known) });
  return reply.code(400).send({ detail, type });
}

/** Answers an error as its sentence alone. Throws a bug of ours, which stays a 500. */
export function sendSentence(reply: FastifyReply, error: unknown): FastifyReply {
  const known = toAppError(error);
  if (known.type === "InternalError") throw error;
  const { http } = errorTypes[known.type];
  return reply.code(http).type("text/plain; charset=utf-8").send(wordedIn(reply, known));
}

/** Its sentence, in the words of the client that reads it. */
export const wordedIn = ({ request }: FastifyReply, { message }: AppError): string =>
  wordedFor(readerOf(request.headers), message);

/** A 422 always lists issues. */
const issuesOf = ({ details, message }: AppError): unknown =>
  details["issues"] ?? [{ loc: ["body"], msg: message, type: "value_error" }];
