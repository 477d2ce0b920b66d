/**
 * Every error that a user can meet, by the type name that the wire shows: the HTTP status where it
 * is answered at once, the exit code of the CLI, and whether trying again may help.
 */
export const errorTypes = {
  ValueError: { http: 400, exit: 2, retry: false },
  InvalidTaskError: { http: 422, exit: 2, retry: false },
  InvalidClusterNameError: { http: 400, exit: 2, retry: false },
  InvalidWorkspaceNameError: { http: 400, exit: 2, retry: false },
  InvalidRecipeNameError: { http: 400, exit: 2, retry: false },
  ConfigError: { http: 400, exit: 2, retry: false },
  UsageError: { http: 400, exit: 2, retry: false },
  NotFoundError: { http: 404, exit: 3, retry: false },
  ClusterDoesNotExist: { http: 404, exit: 3, retry: false },
  JobNotFoundError: { http: 404, exit: 3, retry: false },
  VolumeNotFoundError: { http: 404, exit: 3, retry: false },
  AuthenticationError: { http: 401, exit: 4, retry: false },
  PermissionDeniedError: { http: 403, exit: 4, retry: false },
  UserRequestRejectedByPolicy: { http: 403, exit: 4, retry: false },
  ClusterOwnerIdentityMismatchError: { http: 403, exit: 4, retry: false },
  ClusterNotUpError: { http: 409, exit: 5, retry: false },
  ResourcesMismatchError: { http: 409, exit: 5, retry: false },
  RecipeAlreadyExistsError: { http: 409, exit: 5, retry: false },
  VolumeNotReadyError: { http: 409, exit: 5, retry: true },
  ConflictError: { http: 409, exit: 5, retry: false },
  StatusError: { http: 409, exit: 5, retry: false },
  RequestCancelled: { http: 409, exit: 5, retry: false },
  VersionMismatchError: { http: 400, exit: 5, retry: false },
  RateLimitError: { http: 429, exit: 7, retry: true },
  TooLargeError: { http: 413, exit: 2, retry: false },
  TimeoutError: { http: 504, exit: 6, retry: true },
  ResourcesUnavailableError: { http: 503, exit: 7, retry: true },
  NoCloudAccessError: { http: 503, exit: 7, retry: false },
  UnreachableError: { http: 502, exit: 7, retry: true },
  CloudError: { http: 502, exit: 7, retry: true },
  StorageError: { http: 502, exit: 7, retry: true },
  JobFailedError: { http: 409, exit: 8, retry: false },
  NotSupportedError: { http: 400, exit: 2, retry: false },
  NotImplementedError: { http: 501, exit: 1, retry: false },
  CommandError: { http: 500, exit: 1, retry: false },
  DiskFullError: { http: 507, exit: 7, retry: false },
  RuntimeError: { http: 500, exit: 1, retry: false },
  InternalError: { http: 500, exit: 1, retry: false },
} as const satisfies Record<string, { http: number; exit: number; retry: boolean }>;

export type ErrorType = keyof typeof errorTypes;

/** An error that we meant: its type is a row of `errorTypes`, its message is for the user. */
export class AppError extends Error {
  readonly type: ErrorType;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    type: ErrorType,
    message: string,
    details: Record<string, unknown> = {},
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = type;
    this.type = type;
    this.details = details;
  }
}

/** Throws an `AppError`; `details` travel with it and must hold no secret. */
export function fail(
  type: ErrorType,
  message: string,
  details: Record<string, unknown> = {},
): never {
  throw new AppError(type, message, details);
}

/** Whether a word of the wire is the name of an error that we know. */
export const isErrorType = (type: string): type is ErrorType => Object.hasOwn(errorTypes, type);

/** The error as an `AppError`; one that nobody meant becomes `InternalError` and keeps its cause. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  return new AppError("InternalError", "internal error; the log has the details", {}, error);
}

/** What `work` gives, or undefined where it fails for whatever reason. */
export function ifPossible<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** What an error says, whatever was thrown. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** The code of a system error such as `ENOENT`, or undefined. */
export function errorCodeOf(error: unknown): string | undefined {
  // Not by its class: an error that `node:vm` throws may be of another realm.
  const code = typeof error === "object" && error !== null && "code" in error && error.code;
  return typeof code === "string" ? code : undefined;
}
