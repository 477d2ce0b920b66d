import { AppError, type ErrorType, errorCodeOf, isErrorType } from "../common/errors.ts";
import { isLocal } from "./endpoint.ts";

/** The error types of answers that name none, by HTTP status. */
const typeOfStatus: Readonly<Record<number, ErrorType>> = {
  400: "ValueError",
  401: "AuthenticationError",
  403: "PermissionDeniedError",
  404: "NotFoundError",
  405: "NotSupportedError",
  409: "ConflictError",
  413: "TooLargeError",
  422: "ValueError",
  429: "RateLimitError",
  501: "NotImplementedError",
  502: "UnreachableError",
  503: "UnreachableError",
  504: "TimeoutError",
};

const refused = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

type Fields = Readonly<Record<string, unknown>>;

/** An answer that is no result, and where it came from. */
interface Refusal {
  readonly endpoint: string;
  readonly status: number;
  readonly text: string;
  readonly requestId?: string | undefined;
  /** Its `Retry-After`, in seconds. */
  readonly retryAfter?: string | undefined;
}

/** What went wrong, from an answer that is not a result; also from one of another program. */
export function failureOf({ endpoint, status, text, requestId, retryAfter }: Refusal): AppError {
  const json = readJson(text);
  if (json?.["error"] === "version_mismatch") return versionMismatch(json);
  const detail = json?.["detail"];
  const of = {
    ...(requestId !== undefined && { request_id: requestId }),
    ...(/^\d+$/.test(retryAfter ?? "") && { retry_after: Number(retryAfter) }),
  };
  if (isFields(detail) && "error" in detail) {
    const failure = failureOfRecord(detail);
    if (failure !== undefined) return failure;
  }
  if (isFields(detail) && typeof detail["type"] === "string") return failureOfError(detail, of);
  const message = Array.isArray(detail) ? detail.map(issueLine).join("\n") : detail;
  if (typeof message !== "string") return foreign(endpoint, status, text);
  const type = String(json?.["type"]);
  return new AppError(
    isErrorType(type) ? type : typeOf(status),
    message.trim() || silent(status),
    of,
  );
}

/** The error of an answer that a control plane does not give. */
export function foreign(endpoint: string, status: number, text: string): AppError {
  if (text.trim() === "") return new AppError(typeOf(status), silent(status));
  const what = `${status}${/^\s*<(!doctype|html)/i.test(text) ? " and a web page" : ""}`;
  const ofProxy = proxies[status];
  if (ofProxy !== undefined)
    return new AppError(typeOf(status), `a proxy at ${endpoint} answered ${what}: ${ofProxy}`);
  return notOurs(endpoint, what);
}

/** What proxies answer in the place of a control plane, and what it means. */
const proxies: Readonly<Record<number, string>> = {
  401: "it requires its own credentials",
  403: "it denies access",
  502: "it cannot reach the control plane",
  503: "it cannot reach the control plane",
  504: "it cannot reach the control plane",
};

const notOurs = (endpoint: string, what: string): AppError =>
  new AppError(
    "ConfigError",
    `there is no control plane at ${endpoint}: another program answered ${what}; set OUTRIGGER_ENDPOINT to the address of your control plane`,
  );

const typeOf = (status: number): ErrorType =>
  typeOfStatus[status] ?? (status >= 500 ? "InternalError" : "ValueError");

const silent = (status: number) => `the control plane answered ${status}`;

/** The error that a stored request ended with; undefined when it did not fail. */
export function failureOfRecord(record: Fields): AppError | undefined {
  const error = typeof record["error"] === "string" ? readJson(record["error"]) : undefined;
  const of = { request_id: record["request_id"] };
  if (error !== undefined) return failureOfError(error, of);
  if (record["status"] !== "CANCELLED") return undefined;
  return new AppError("RequestCancelled", `request ${of.request_id} was cancelled`, of);
}

const startOne =
  "start one with `outrigger api start`, or set OUTRIGGER_ENDPOINT to the address of another";
const checkAddress =
  "set OUTRIGGER_ENDPOINT to another address; `outrigger config show --origin` shows where this one comes from";

/** The error of a connection that could not be made or broke. */
export function unreachable(endpoint: string, cause: unknown): AppError {
  const code = errorCodeOf(cause) ?? "";
  if (cause instanceof AppError) return cause;
  // What an HTTP parser says of bytes that are no HTTP.
  if (code.startsWith("HPE_") || (cause instanceof Error && cause.name === "HTTPParserError"))
    return notOurs(endpoint, "without HTTP");
  const message = refused.has(code)
    ? `no control plane at ${endpoint}; ${isLocal(endpoint) ? startOne : checkAddress}`
    : `lost the connection to ${endpoint}${code === "" ? "" : ` (${code})`}`;
  return new AppError("UnreachableError", message, {}, cause);
}

function failureOfError(error: Fields, details: Record<string, unknown>): AppError {
  const type = String(error["type"] ?? "");
  const message = String(error["message"] ?? "").trim() || type || "failed without a message";
  if (isErrorType(type)) return new AppError(type, message, details);
  return new AppError("RuntimeError", type === "" ? message : `${type}: ${message}`, details);
}

function versionMismatch(json: Fields): AppError {
  const message = String(
    json["message"] ?? "the versions of client and control plane are too far apart",
  );
  return new AppError("VersionMismatchError", message);
}

/** One line for one refused field: `resources.ports.0: expected a number`. */
function issueLine(issue: unknown): string {
  if (!isFields(issue)) return String(issue);
  const loc = Array.isArray(issue["loc"]) ? issue["loc"].map(String) : [];
  const where = loc.filter(
    (part, index) => index > 0 || !["body", "query", "path", "header"].includes(part),
  );
  const message = String(issue["msg"] ?? "not valid");
  return where.length === 0 ? message : `${where.join(".")}: ${message}`;
}

function readJson(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
