import { fail } from "../common/errors.ts";
import { product } from "../common/product.ts";
import { type Header, readHeader, refuseJobNames } from "./task/header.ts";
import type { Path, TaskIssue, TaskWarning } from "./task/issues.ts";
import { type Parts, splitParts } from "./task/parts.ts";
import { child, gives, type Place, refuse } from "./task/place.ts";
import { readTaskFields, type Task } from "./task/task-fields.ts";
import type { GivenVariables } from "./task/variables.ts";
import { parseYaml } from "./task/yaml-text.ts";

export { redactSecrets } from "./task/redaction.ts";
export type { Task };

/** A task document: one task, tasks that run one after the other, or tasks that run side by side. */
export interface TaskDocument {
  readonly kind: "task" | "pipeline" | "group";
  readonly name: string | undefined;
  /** At least one; exactly one when `kind` is `task`. */
  readonly tasks: readonly Task[];
  /** What a job group asks for beside its tasks. */
  readonly group: Pick<Header, "primaryTasks" | "terminationDelaySeconds"> | undefined;
  readonly warnings: readonly TaskWarning[];
}

/** A document, or everything that is wrong with it. */
export type TaskReading =
  | {
      readonly ok: true;
      readonly document: TaskDocument;
      /** What the reader of a document has against something in one of its tasks. */
      issueAt(task: number, path: Path, message: string): TaskIssue;
    }
  | { readonly ok: false; readonly issues: readonly TaskIssue[] };

/** Reads the text of a task; never throws. `given` are values that the caller adds or overrides. */
export function readTask(text: string, given: GivenVariables = {}): TaskReading {
  const yaml = parseYaml(text);
  if (yaml.issues.length > 0) return { ok: false, issues: yaml.issues };
  const findings = { issues: [], warnings: [] };
  const parts = splitParts(yaml, findings);
  const document = readParts(parts, given, findings.warnings);
  const issues: TaskIssue[] = findings.issues;
  if (issues.length === 0) return { ok: true, document, issueAt: openIssues(parts) };
  return { ok: false, issues: issues.toSorted((a, b) => a.line - b.line || a.column - b.column) };
}

const openIssues = (parts: Parts) => (task: number, path: Path, message: string) => {
  const found: TaskIssue[] = [];
  const [first] = parts.tasks;
  const place = parts.tasks[task] ?? first;
  if (place) refuse({ value: undefined, path, notes: { ...place.notes, issues: found } }, message);
  const [issue] = found;
  return issue ?? { line: 1, column: 1, path, field: "", message, type: "value_error" as const };
};

/** The only task of a document; throws `NotSupportedError` for an operation that takes no more. */
export function singleTask(document: TaskDocument, operation: string): Task {
  const [task] = document.tasks;
  if (document.kind === "task" && task !== undefined) return task;
  const what = document.kind === "group" ? "job group" : "pipeline";
  const wayOut = `run it as a managed job: ${product.word} jobs launch FILE`;
  fail(
    "NotSupportedError",
    `${operation} takes one task, and this document is a ${what} of ${document.tasks.length}; ${wayOut}`,
  );
}

function readParts(
  parts: Parts,
  given: GivenVariables,
  warnings: readonly TaskWarning[],
): TaskDocument {
  const tasks = parts.tasks.map((place) => readTaskFields(place, given));
  const names = tasks.map(({ name }) => name);
  const header = parts.header && readHeader(parts.header, names);
  if (header?.execution === "parallel") return readGroup(parts, header, tasks, warnings);
  const [first] = tasks;
  const kind = tasks.length === 1 ? "task" : "pipeline";
  if (kind === "pipeline") refuseKinds(parts);
  const name = header?.name ?? (kind === "task" ? first?.name : undefined);
  return { kind, name, tasks: named(tasks, kind, name), group: undefined, warnings };
}

/** Tasks of a pipeline without a name get one from the pipeline. */
function named(tasks: readonly Task[], kind: "task" | "pipeline", name?: string): readonly Task[] {
  if (name === undefined) return tasks;
  const nameAt = (at: number) => (kind === "task" ? name : `${name}-${at}`);
  return tasks.map((task, at) => ({ ...task, name: task.name ?? nameAt(at) }));
}

function readGroup(
  parts: Parts,
  header: Header,
  tasks: readonly Task[],
  warnings: readonly TaskWarning[],
): TaskDocument {
  refuseKinds(parts);
  refusePools(parts);
  refuseJobNames(
    parts.tasks,
    tasks.map(({ name }) => name),
  );
  if (tasks.length < 2 && parts.header !== undefined)
    refuse(parts.header, "a job group needs at least two tasks; add one, or drop `execution`");
  const { name, primaryTasks, terminationDelaySeconds } = header;
  const group = { primaryTasks, terminationDelaySeconds };
  const members = tasks.map((task) => ({ ...task, isInGroup: true as const }));
  return { kind: "group", name, tasks: members, group, warnings };
}

/** Only a document of one task can be a service or a pool. */
function refuseKinds(parts: Parts): void {
  for (const place of parts.tasks)
    for (const section of ["service", "pool"])
      if (gives(place, section) && !namesPool(place, section))
        refuse(
          child(place, section),
          `a ${section} takes one task only; move it to its own document`,
        );
}

const namesPool = (place: Place, section: string): boolean =>
  section === "pool" && typeof child(place, section).value === "string";

/** A group begins together, which workers that have other jobs cannot. */
function refusePools(parts: Parts): void {
  for (const place of parts.tasks)
    if (namesPool(place, "pool"))
      refuse(child(place, "pool"), "a job group has clusters of its own; leave it out");
}
