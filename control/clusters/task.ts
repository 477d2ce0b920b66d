import { AppError, fail } from "../../common/errors.ts";
import { formatIssues, type TaskIssue, toValidationItems } from "../../contract/task/issues.ts";
import { readTask as readDocument, singleTask, type Task } from "../../contract/task.ts";

/**
 * The one task of a document. Throws `InvalidTaskError` with every issue and its place, or says
 * which operations take a document of several tasks.
 */
export function readTask(text: string, operation: string): Task {
  const reading = readDocument(text);
  if (!reading.ok)
    throw new AppError("InvalidTaskError", formatIssues(reading.issues), {
      issues: toItems(reading.issues),
    });
  const task = singleTask(reading.document, operation);
  refuseUnbuilt(task);
  return task;
}

/** Issues for a 422; whoever wrote the text looks for a line of it, not for a path. */
const toItems = (issues: readonly TaskIssue[]) =>
  toValidationItems(issues).map((item, at) => {
    const { line, column } = issues[at] ?? { line: 1, column: 1 };
    return { ...item, msg: `line ${line}, column ${column}: ${item.msg}` };
  });

/** A command line as it may be kept: the values of the task's secrets stand in many of them. */
export const withoutSecrets = (command: string, { secrets }: Task): string =>
  Object.values(secrets)
    .map((secret) => secret.reveal())
    .filter((value) => value !== "")
    .reduce((text, value) => text.replaceAll(value, "[secret]"), command);

/** Remarks on a document that is accepted all the same, a line each. */
export function remarksOn(text: string): string {
  const reading = readDocument(text);
  const { warnings } = reading.ok ? reading.document : { warnings: [] };
  return warnings.map((warning) => `${formatIssues([warning])}\n`).join("");
}

/** What a task may say but nothing here does yet: refused, so that nothing is lost silently. */
function refuseUnbuilt(task: Task): void {
  const sections = {
    workdir: task.workdir !== undefined,
    file_mounts: Object.keys(task.fileMounts).length > 0,
    volumes: Object.keys(task.volumes).length > 0,
    "config.hooks": (task.hooks?.length ?? 0) > 0,
    "autostop.hook": hasAutostopHook(task),
  };
  const used = Object.entries(sections).filter(([, isUsed]) => isUsed);
  if (used.length > 0)
    fail(
      "NotSupportedError",
      `${used.map(([name]) => name).join(" and ")} cannot be served yet in this version; leave it out`,
    );
}

const hasAutostopHook = ({ resources: { autostop } }: Task): boolean =>
  autostop !== undefined && autostop !== "off" && autostop.hook !== undefined;
