import { AppError } from "../common/errors.ts";
import type { TaskIssue } from "../contract/task/issues.ts";
import type { Entrypoint } from "./task-text.ts";

/**
 * Runs what sends a task. Where control refuses it, the places it names are those of the text that
 * was sent; the error that is thrown names those of the user's own text instead.
 */
export async function inOwnPlaces<T>(
  source: Entrypoint,
  sent: string,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const { readTask } = await import("../contract/task.ts");
    const issuesOf = (text: string): readonly TaskIssue[] => {
      const reading = readTask(text);
      return reading.ok ? [] : reading.issues;
    };
    const lines = placedAnew(error.message, issuesOf(sent), issuesOf(source.text));
    throw refusal(source, lines, error);
  }
}

/** Runs what reads the user's own text; a refusal names its file. */
export function inOwnFile<T>(source: Entrypoint, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw isRefusal(error) ? refusal(source, error.message, error) : error;
  }
}

const isRefusal = (error: unknown): error is AppError =>
  error instanceof AppError && error.type === "InvalidTaskError";

/** Places in a file stand as editors know how to jump there: `task.yaml:3:5: ...`. */
function refusal({ file }: Entrypoint, lines: string, cause: AppError): AppError {
  if (file === undefined) return new AppError(cause.type, lines, {}, cause);
  const placed = lines.replace(
    /^line (\d+), column (\d+)(?=: )/gm,
    (_, line: string, column: string) => `${file}:${line}:${column}`,
  );
  return new AppError(cause.type, `${file} cannot be used as it is:\n${placed}`, {}, cause);
}

/** The lines of a refusal with the places of the source; what options brought stands nowhere in it. */
function placedAnew(
  refused: string,
  sent: readonly TaskIssue[],
  source: readonly TaskIssue[],
): string {
  const lines = refused.split("\n").map((line) => {
    const issue = sent.find((one) => line.endsWith(`${placeOf(one)}: ${one.message}`));
    if (issue === undefined) return line;
    const own = source.find(({ field, type }) => field === issue.field && type === issue.type);
    return [own && placeOf(own), issue.field, issue.message].filter(Boolean).join(": ");
  });
  return lines.join("\n");
}

const placeOf = ({ line, column }: TaskIssue) => `line ${line}, column ${column}`;
