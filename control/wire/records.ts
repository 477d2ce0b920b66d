import { protocol } from "../../common/product.ts";
import type { RequestPayload } from "../../contract/records/requests.ts";
import type { RequestStatus } from "../../contract/statuses.ts";
import { encodeError, type KnownError } from "./errors.ts";
import { preciseSeconds } from "./fields.ts";
import { encodedNull } from "./pickle.ts";
import { isAlike, resultFor } from "./results.ts";

/** A stored request as the wire shows it. */
export interface RequestView {
  readonly id: string;
  /** Without prefix: `launch`, `jobs.queue_v2`. */
  readonly name: string;
  readonly status: RequestStatus;
  readonly queue: "long" | "short";
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  readonly userId: string;
  readonly userName: string | null;
  readonly clusterName: string | null;
  readonly statusMessage: string | null;
}

/** How a request ended: its result as JSON text in the form of the newest client, or its error. */
export interface Outcome {
  readonly returnValue: string;
  readonly error: KnownError | null;
}

/**
 * The record of `/api/get`, with the outcome as a client of this API number reads it. Source: the
 * protocol's existing clients unpickle `entrypoint` and `request_body`, then parse JSON texts.
 */
export const fetchedRequest = (
  request: RequestView,
  outcome: Outcome,
  clientVersion: number | undefined,
): RequestPayload => ({
  ...requestFields(request),
  entrypoint: encodedNull,
  request_body: encodedNull,
  return_value: returnValueFor(request.name, outcome.returnValue, clientVersion),
  error: encodeError(outcome.error),
});

/** The record of `/api/status`: readable, and without the outcome. */
export const listedRequest = (
  request: RequestView,
  origin: { readonly entrypoint: string; readonly body: unknown },
): RequestPayload => ({
  ...requestFields(request),
  entrypoint: origin.entrypoint,
  request_body: JSON.stringify(origin.body ?? null),
  return_value: "null",
  error: "null",
});

/**
 * The record with these fields and its id alone; the others hold what stands for nothing. Source: the
 * protocol's existing clients ask for some fields and parse all of them.
 */
export const withFields = (record: RequestPayload, fields: readonly string[]): RequestPayload => ({
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

const requestFields = (request: RequestView) => ({
  request_id: request.id,
  name: `${protocol.requestPrefix}.${request.name}`,
  status: request.status,
  created_at: preciseSeconds(request.createdAt),
  finished_at: request.finishedAt && preciseSeconds(request.finishedAt),
  user_id: request.userId,
  user_name: request.userName,
  pid: null,
  schedule_type: request.queue,
  cluster_name: request.clusterName,
  status_msg: request.statusMessage,
  should_retry: false,
  file_mounts_blob_id: null,
});

const returnValueFor = (name: string, json: string, clientVersion: number | undefined): string =>
  isAlike(name) ? json : JSON.stringify(resultFor(name, JSON.parse(json), clientVersion));
