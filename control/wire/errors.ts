import type { ErrorType } from "../../common/errors.ts";
import { call, global, pickleText, tuple, type Value } from "./pickle.ts";

type Plain =
  | null
  | boolean
  | number
  | string
  | readonly Plain[]
  | { readonly [key: string]: Plain };
type Attributes = Readonly<Record<string, Plain>>;
type Table<T> = { readonly [Type in ErrorType]?: T } & { readonly [type: string]: T | undefined };

/** An error to send: an `AppError`, or what was stored of one. */
export interface KnownError {
  readonly type: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** An error as `/validate` answers it, and as existing clients rebuild it. */
export interface PlainError {
  /** The nearest type that existing clients know. */
  readonly type: string;
  /** Our own type. */
  readonly own_type: string;
  readonly message: string;
  readonly args: readonly string[];
  readonly attributes: Attributes;
  readonly stacktrace: null;
}

/** Types of ours that existing clients do not know, and the nearest that their commands handle. */
const nearest: Table<string> = {
  InvalidTaskError: "ValueError",
  ConfigError: "ValueError",
  UsageError: "ValueError",
  NotFoundError: "ValueError",
  JobNotFoundError: "ValueError",
  TooLargeError: "ValueError",
  RateLimitError: "RuntimeError",
  AuthenticationError: "PermissionDeniedError",
  ConflictError: "RuntimeError",
  StatusError: "RuntimeError",
  VersionMismatchError: "RuntimeError",
  UnreachableError: "RuntimeError",
  JobFailedError: "RuntimeError",
  DiskFullError: "RuntimeError",
  InternalError: "RuntimeError",
};

type Shape = (error: KnownError) => { args: readonly string[]; attributes: Attributes };

/** Types whose constructor wants more than the message, or something else. */
const shapes: Table<Shape> = {
  ResourcesUnavailableError: ({ message, details }) => ({
    args: [message],
    attributes: {
      no_failover: details["noFailover"] === true,
      failover_history: textsOf(details["refusals"]),
    },
  }),
  ClusterNotUpError: ({ message, details }) => ({
    args: [message],
    attributes: { cluster_status: clusterStatusOf(details["status"]), handle: null },
  }),
  CommandError: ({ message, details }) => ({
    args: [],
    attributes: {
      returncode: typeof details["exitCode"] === "number" ? details["exitCode"] : 1,
      command: textOf(details["command"]) ?? "",
      error_msg: message,
      detailed_reason: textOf(details["reason"]) ?? "",
    },
  }),
  CloudError: ({ message, details }) => ({
    args: [message],
    attributes: {
      cloud_provider: textOf(details["provider"]) ?? "cloud",
      error_type: textOf(details["errorType"]) ?? "CloudError",
    },
  }),
};

const messageOnly: Shape = ({ message }) => ({ args: [message], attributes: {} });

/**
 * An error as plain JSON: the `detail` of the 400 of `/validate` and `/volumes/validate`.
 * Source: the protocol's existing clients call the class `type` with `args` and `attributes`.
 */
export function plainError(error: KnownError): PlainError {
  const { args, attributes } = (shapes[error.type] ?? messageOnly)(error);
  const type = nearest[error.type] ?? error.type;
  const { message } = error;
  return { type, own_type: error.type, message, args, attributes, stacktrace: null };
}

/**
 * The `error` field of a request record, as JSON text; "null" without an error. Its `type` and
 * `details` are ours; existing clients read nothing but `object`, the pickled plain error.
 */
export function encodeError(error: KnownError | null): string {
  if (error === null) return "null";
  const { type, message, details } = error;
  return JSON.stringify({ object: pickledError(error), type, message, details });
}

function pickledError(error: KnownError): string {
  const { type, message, args, attributes, stacktrace } = plainError(error);
  const { cluster_status: status, failover_history: history } = attributes;
  const state = { ...attributes, ...statusAttribute(status), ...historyAttribute(history) };
  return pickleText({ type, message, args: tuple(args), attributes: state, stacktrace });
}

/** Clients compare the status of a cluster with a member of their enum. */
const statusAttribute = (status: Plain | undefined): Record<string, Value> =>
  typeof status === "string"
    ? { cluster_status: call(global("sky.utils.status_lib", "ClusterStatus"), [status]) }
    : {};

/** Clients have an exception for each offer that was tried. */
const historyAttribute = (history: Plain | undefined): Record<string, Value> =>
  history === undefined
    ? {}
    : { failover_history: textsOf(history).map((text) => call(unavailable, [text])) };

const unavailable = global("sky.exceptions", "ResourcesUnavailableError");

/** AUTOSTOPPING is shown as UP, which it still is: clients below API 29 do not know the word. */
function clusterStatusOf(status: unknown): string | null {
  if (status === "AUTOSTOPPING") return "UP";
  return status === "INIT" || status === "UP" || status === "STOPPED" ? status : null;
}

const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;
