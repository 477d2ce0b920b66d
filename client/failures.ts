import { AppError, type ErrorType, errorCodeOf, isErrorType } from "../common/errors.ts";

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
  501: "NotImplementedError",
  502: "UnreachableError",
  503: "UnreachableError",
  504: "TimeoutError",
};

const refused = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

type Fields = Readonly<Record<string, unknown>>;

/** What went wrong, from an answer that is not a result. */
export function failureOf(status: number, text: string): AppError {
  const json = readJson(text);
  const detail = json?.["detail"];
  if (json?.["error"] === "version_mismatch") return versionMismatch(json);
  if (isFields(detail) && "error" in detail) return failureOfRecord(detail) ?? plain(status, text);
  if (isFields(detail) && typeof detail["type"] === "string") return failureOfError(detail);
  const message = Array.isArray(detail) ? detail.map(issueLine).join("\n") : detail;
  if (typeof message !== "string") return plain(status, text);
  const type = String(json?.["type"]);
  return isErrorType(type) ? new AppError(type, message) : plain(status, message);
}

/** The error that a stored request ended with; undefined when it did not fail. */
export function failureOfRecord(record: Fields): AppError | undefined {
  const error = typeof record["error"] === "string" ? readJson(record["error"]) : undefined;
  if (error !== undefined) return failureOfError(error);
  if (record["status"] !== "CANCELLED") return undefined;
  return new AppError("RequestCancelled", `request ${String(record["request_id"])} was cancelled`);
}

/** The error of a connection that could not be made or broke. */
export function unreachable(endpoint: string, cause: unknown): AppError {
  const code = errorCodeOf(cause) ?? "";
  if (cause instanceof AppError) return cause;
  const message = refused.has(code)
    ? `no control plane at ${endpoint}; start one with \`outrigger api start\``
    : `lost the connection to ${endpoint}${code === "" ? "" : ` (${code})`}`;
  return new AppError("UnreachableError", message, {}, cause);
}

function failureOfError(error: Fields): AppError {
  const type = String(error["type"] ?? "");
  const message = String(error["message"] ?? "").trim() || type || "failed without a message";
  if (isErrorType(type)) return new AppError(type, message);
  return new AppError("RuntimeError", type === "" ? message : `${type}: ${message}`);
}

function versionMismatch(json: Fields): AppError {
  const message = String(json["message"] ?? "client and control plane are too far apart");
  return new AppError("VersionMismatchError", message);
}

/** One line for one refused field: `resources.ports.0: expected a number`. */
function issueLine(issue: unknown): string {
  if (!isFields(issue)) return String(issue);
  const loc = Array.isArray(issue["loc"]) ? issue["loc"].map(String) : [];
  const where = loc.filter((part, index) => index > 0 || !["body", "query", "path"].includes(part));
  const message = String(issue["msg"] ?? "not valid");
  return where.length === 0 ? message : `${where.join(".")}: ${message}`;
}

function plain(status: number, text: string): AppError {
  const type = typeOfStatus[status] ?? (status >= 500 ? "InternalError" : "ValueError");
  return new AppError(type, text.trim() || `the control plane answered ${status}`);
}

function readJson(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
