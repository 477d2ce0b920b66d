import { AppError, isErrorType } from "../../common/errors.ts";
import { findOperation } from "../../contract/api.ts";
import type { RequestPayload } from "../../contract/records/requests.ts";
import { fetchedRequest, listedRequest, type RequestView, withFields } from "../wire/records.ts";
import { type Reader, wordedFor } from "../wire/wording.ts";
import type { EndedRequest, Failure, StoredRequest } from "./schema.ts";

/** The record of a request that has ended, with its result, for the client that reads it. */
export function toFetched(request: EndedRequest, reader: Reader): RequestPayload {
  const outcome = {
    returnValue: request.returnValue ?? "null",
    error: request.failure && errorOf(request.failure, reader),
  };
  return fetchedRequest(viewOf(request), outcome, reader.clientApi ?? undefined);
}

/** The record of a request in a list: without its result, and filled as far as the caller asks. */
export const toListed = (
  request: StoredRequest,
  fields: readonly string[] | null,
): RequestPayload => {
  const record = listedRequest(viewOf(request), { entrypoint: request.name, body: {} });
  return fields === null ? record : withFields(record, fields);
};

const viewOf = (request: StoredRequest): RequestView => ({
  id: request.id,
  name: findOperation(request.name)?.requestName ?? request.name,
  status: request.status,
  queue: request.queue,
  createdAt: new Date(request.createdAt),
  finishedAt: request.finishedAt === null ? null : new Date(request.finishedAt),
  userId: request.user.id,
  userName: request.user.name,
  clusterName: request.clusterName,
  statusMessage: request.statusNote,
});

const errorOf = ({ type, message, details }: Failure, reader: Reader): AppError =>
  new AppError(isErrorType(type) ? type : "InternalError", wordedFor(reader, message), details);
