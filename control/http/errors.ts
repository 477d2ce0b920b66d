import type { FastifyReply } from "fastify";
import { type AppError, errorTypes } from "../../common/errors.ts";
import type { Logger } from "../log.ts";

/** Answers an error: `{"detail"}` with the HTTP status of its type, and its type for our clients. */
export function sendError(reply: FastifyReply, error: AppError, log: Logger): void {
  const { http } = errorTypes[error.type];
  if (http === 500) log.error({ err: error }, "request not answered");
  reply
    .code(http)
    .send({ detail: http === 422 ? issuesOf(error) : error.message, type: error.type });
}

/** A 422 always lists issues. */
const issuesOf = ({ details, message }: AppError): unknown =>
  details["issues"] ?? [{ loc: ["body"], msg: message, type: "value_error" }];
