import { AppError } from "../common/errors.ts";
import { formatIssues, type TaskIssue, type TaskWarning } from "../contract/task/issues.ts";
import type { Entrypoint } from "./task-text.ts";

/** Gives what control prints the places of the user's own text. */
export type Reword = (printed: Buffer) => Promise<Buffer>;

/**
 * Runs what sends a task. Places that control names, in a refusal or in a warning, are those of the text
 * that was sent; the error that is thrown, and what `reword` answers, name those of the user's own text.
 */
export async function withSourcePositions<T>(
  source: Entrypoint,
  sent: string,
  run: (reword: Reword) => Promise<T>,
): Promise<T> {
  try {
    return await run((printed) => warningsInPlace(source, sent, printed));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    throw refusal(source, await inPlacesOf(source, sent, error.message), error);
  }
}

/**
 * Refuses a task for what this side alone can know of it: each issue is one of the user's own text. Whatever else
 * is wrong with what would be sent is told with them. Does nothing where there is no issue.
 */
export async function refuseOwn(
  source: Entrypoint,
  sent: string,
  own: readonly TaskIssue[],
): Promise<void> {
  if (own.length === 0) return;
  const others = formatIssues(await issuesOf(sent));
  const lines = [formatIssues(own), others && (await inPlacesOf(source, sent, others))];
  throw refusal(source, lines.filter(Boolean).join("\n"));
}

const inPlacesOf = async ({ text }: Entrypoint, sent: string, lines: string) =>
  placedAnew(lines, await issuesOf(sent), await issuesOf(text));

async function issuesOf(text: string): Promise<readonly TaskIssue[]> {
  const { readTask } = await import("../contract/task.ts");
  const reading = readTask(text);
  return reading.ok ? [] : reading.issues;
}

/** What control prints of a task that it takes, with each warning where the user's file causes it. */
async function warningsInPlace(
  { file, text }: Entrypoint,
  sent: string,
  printed: Buffer,
): Promise<Buffer> {
  if (!printed.includes("line ")) return printed;
  const own = await warningsOf(text);
  const placed = new Map<string, string>();
  for (const warning of await warningsOf(sent)) {
    const { field, message } = warning;
    const cause = own.find((one) => one.field === field && one.message === message);
    const place = cause && file && `${file}:${cause.line}:${cause.column}`;
    const words = [place ?? file, field, message].filter(Boolean).join(": ");
    placed.set(formatIssues([warning]), words);
  }
  const lines = printed.toString().split("\n");
  return Buffer.from(lines.map((line) => placed.get(line) ?? line).join("\n"));
}

async function warningsOf(text: string): Promise<readonly TaskWarning[]> {
  const { readTask } = await import("../contract/task.ts");
  const reading = readTask(text);
  return reading.ok ? reading.document.warnings : [];
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
function refusal({ file }: Entrypoint, lines: string, cause?: AppError): AppError {
  const type = "InvalidTaskError";
  if (file === undefined) return new AppError(type, lines, {}, cause);
  const placed = lines.replace(
    /^line (\d+), column (\d+)(?=: )/gm,
    (_, line: string, column: string) => `${file}:${line}:${column}`,
  );
  return new AppError(type, `${file} cannot be used as it is:\n${placed}`, {}, cause);
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
