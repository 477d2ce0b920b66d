import { AppError, type ErrorType, errorTypes, toAppError } from "../common/errors.ts";
import { Declined } from "./declined.ts";
import type { ErrorOutput } from "./output/error.ts";

/** Whether a command line asks for JSON; also one that cannot be parsed. */
export function wantsJson(words: readonly string[]): boolean {
  const end = words.indexOf("--");
  const own = end < 0 ? words : words.slice(0, end);
  return own.some(
    (word, at) =>
      /^(-o|--output=)(nd)?json$/.test(word) ||
      /^--fields(=|$)/.test(word) ||
      (/^(nd)?json$/.test(word) && /^(-o|--output)$/.test(own[at - 1] ?? "")),
  );
}

/** What to do about errors whose message may not say it. */
const hints: Partial<Record<ErrorType, string>> = {
  UsageError: "run outrigger COMMAND --help for usage",
  ClusterDoesNotExist: "outrigger status -u lists clusters",
  JobNotFoundError: "outrigger queue CLUSTER lists jobs",
  ClusterNotUpError: "outrigger status CLUSTER shows its state; outrigger start CLUSTER starts it",
  AuthenticationError: "outrigger api info shows who you are to the control plane",
  PermissionDeniedError: "outrigger api info shows who you are to the control plane",
  ResourcesUnavailableError: "outrigger check lists what is available; launch -r keeps trying",
  UnreachableError: "outrigger doctor looks for the cause",
  TimeoutError: "try again",
};

/** The error for a program to read. */
export function errorForm(error: unknown): ErrorOutput {
  if (error instanceof Declined)
    return form({ code: "Declined", message: error.message, exit_code: error.exit });
  const known = toAppError(error);
  const { type, details } = known;
  const isOurs = error instanceof AppError || !(error instanceof Error);
  return form({
    code: type,
    message: isOurs ? known.message : error.message,
    hint: textOf(details["hint"]) ?? hints[type] ?? null,
    request_id: textOf(details["request_id"]) ?? null,
    exit_code: errorTypes[type].exit,
    retryable: errorTypes[type].retry,
  });
}

type Fields = ErrorOutput["error"];

const form = (fields: Pick<Fields, "code" | "message" | "exit_code"> & Partial<Fields>) => ({
  error: { hint: null, request_id: null, retryable: false, ...fields },
});

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;
