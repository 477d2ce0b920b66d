/** Where something stands in a task document: keys and list indexes from the top of the task. */
export type Path = readonly (string | number)[];

/** What kind of rule a document breaks; the `type` of an item in a 422 answer. */
export const issueTypes = {
  yaml_syntax: "the text is not YAML",
  duplicate_key: "a key is given twice",
  too_large: "the document exceeds a limit of size or depth",
  extra_forbidden: "nobody knows the field",
  missing: "a required field is missing",
  type_error: "the value has the wrong type",
  value_error: "the value breaks a rule",
} as const;
export type IssueType = keyof typeof issueTypes;

/** One thing that is wrong with a task document. Lines and columns count from 1. */
export interface TaskIssue {
  readonly line: number;
  readonly column: number;
  readonly path: Path;
  /** The path as people write it: `resources.any_of[0].ports`; empty for the document itself. */
  readonly field: string;
  /** One lower-case sentence that says what to do. */
  readonly message: string;
  readonly type: IssueType;
}

/** A remark on a document that is accepted all the same. */
export type TaskWarning = Omit<TaskIssue, "type">;

/** One item of a 422 answer. */
export interface ValidationItem {
  readonly loc: Path;
  readonly msg: string;
  readonly type: IssueType;
}

/** More are not reported: a reader mends the first ones and asks again. */
export const maxIssues = 50;

/** The issues as text for people, one a line: `line 4, column 3: resources.ports: ...`. */
export function formatIssues(issues: readonly (TaskIssue | TaskWarning)[]): string {
  return issues.map(formatIssue).join("\n");
}

function formatIssue({ line, column, field, message }: TaskIssue | TaskWarning): string {
  const place = `line ${line}, column ${column}`;
  return field === "" ? `${place}: ${message}` : `${place}: ${field}: ${message}`;
}

/** The issues as items of a 422 answer; `from` is where the document travels in the body. */
export function toValidationItems(
  issues: readonly TaskIssue[],
  from: Path = ["body", "task"],
): ValidationItem[] {
  return issues.map(({ path, message, type }) => ({ loc: [...from, ...path], msg: message, type }));
}

/** The path as people write it; keys that are no plain words stand in brackets and quotes. */
export function fieldOf(path: Path): string {
  return path.map(stepOf).join("").replace(/^\./, "");
}

function stepOf(step: string | number): string {
  if (typeof step === "number") return `[${step}]`;
  return /^[\w-]+$/.test(step) ? `.${step}` : `[${JSON.stringify(step.slice(0, 80))}]`;
}
