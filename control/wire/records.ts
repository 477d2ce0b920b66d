import { AppError, isErrorType } from "../../common/errors.ts";
import { protocol } from "../../common/product.ts";
import { findOperation } from "../../contract/api.ts";
import type { RequestPayload } from "../../contract/records/requests.ts";
import type { EndedRequest, Failure, StoredRequest } from "../requests/schema.ts";
import { encodeError } from "./errors.ts";
import { preciseSeconds } from "./fields.ts";
import { encodedNull } from "./pickle.ts";
import { isAlike, resultFor } from "./results.ts";
import { type Reader, wordedFor } from "./wording.ts";

/**
 * The record of a request that has ended, with its result, as the client that reads it needs it. Source: the
 * protocol's existing clients unpickle `entrypoint` and `request_body`, then parse JSON texts.
 */
export const fetchedRequest = (request: EndedRequest, reader: Reader): RequestPayload => ({
  ...requestFields(request),
  entrypoint: encodedNull,
  request_body: encodedNull,
  return_value: returnValueFor(nameOf(request), request.returnValue ?? "null", reader),
  error: encodeError(request.failure && errorOf(request.failure, reader)),
});

/** The record of a request in a list: without its result, and filled as far as the caller asks. */
export function listedRequest(
  request: StoredRequest,
  fields: readonly string[] | null,
): RequestPayload {
  const record = {
    ...requestFields(request),
    entrypoint: request.name,
    request_body: "{}",
    return_value: "null",
    error: "null",
  };
  return fields === null ? record : withFields(record, fields);
}

/**
 * The record with these fields and its id alone; the others hold what stands for nothing. Source: the
 * protocol's existing clients ask for some fields and parse all of them.
 */
const withFields = (record: RequestPayload, fields: readonly string[]): RequestPayload => ({
  ...emptyRecord,
  ...Object.fromEntries(Object.entries(record).filter(([name]) => fields.includes(name))),
  request_id: record.request_id,
});

const emptyRecord: Omit<RequestPayload, "request_id"> = {
  name: "",
  entrypoint: "",
  request_body: "null",
  status: "PENDING",
  created_at: 0,
  finished_at: null,
  user_id: "",
  user_name: null,
  return_value: "null",
  error: "null",
  pid: null,
  schedule_type: "short",
  cluster_name: null,
  status_msg: null,
  should_retry: false,
  file_mounts_blob_id: null,
};

/** Without prefix: `launch`, `jobs.queue_v2`. */
const nameOf = ({ name }: StoredRequest): string => findOperation(name)?.requestName ?? name;

const requestFields = (request: StoredRequest) => ({
  request_id: request.id,
  name: `${protocol.requestPrefix}.${nameOf(request)}`,
  status: request.status,
  created_at: preciseSeconds(request.createdAt),
  finished_at: preciseSeconds(request.finishedAt),
  user_id: request.user.id,
  user_name: request.user.name,
  pid: null,
  schedule_type: request.queue,
  cluster_name: request.clusterName,
  status_msg: request.statusNote,
  should_retry: false,
  file_mounts_blob_id: null,
});

const returnValueFor = (name: string, json: string, { clientApi }: Reader): string =>
  isAlike(name) ? json : JSON.stringify(resultFor(name, JSON.parse(json), clientApi ?? undefined));

const errorOf = ({ type, message, details }: Failure, reader: Reader): AppError =>
  new AppError(isErrorType(type) ? type : "InternalError", wordedFor(reader, message), details);
