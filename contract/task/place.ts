import { isScalar, type ParsedNode } from "yaml";
import {
  type IssueType,
  maxIssues,
  type Path,
  type TaskIssue,
  type TaskWarning,
} from "./issues.ts";
import { findEntry, type YamlText } from "./yaml-text.ts";

/** What was found so far, and how a path leads back into the text. */
export interface Notes {
  readonly yaml: YamlText;
  readonly root: ParsedNode | null;
  /** Path of the task inside the text: empty, or `tasks` and its index. */
  readonly from: Path;
  readonly issues: TaskIssue[];
  readonly warnings: TaskWarning[];
}

/** A value of the document and where it stands, for readers that check it. */
export interface Place {
  readonly value: unknown;
  /** From the top of the task. */
  readonly path: Path;
  readonly notes: Notes;
}

/** The place of an entry of a mapping or list. */
export function child(place: Place, key: string | number): Place {
  const { value, path, notes } = place;
  return { value: ownOf(value, key), path: [...path, key], notes };
}

function ownOf(value: unknown, key: string | number): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string | number, unknown>)[key];
}

/** The places of the items of a list; that of a value which is none. */
export const itemsOf = (place: Place): Place[] =>
  Array.isArray(place.value) ? place.value.map((_, at) => child(place, at)) : [place];

/** Whether a mapping has the key with a value that is not null. */
export function gives(place: Place, key: string): boolean {
  const value = ownOf(place.value, key);
  return value !== undefined && value !== null;
}

/** Notes that the value breaks a rule; always undefined, so that a reader can return it. */
export function refuse(place: Place, message: string, type: IssueType = "value_error"): undefined {
  const { issues, yaml, root, from } = place.notes;
  if (issues.length >= maxIssues) return undefined;
  const { offset } = findEntry(root, place.path);
  issues.push(yaml.issueAt(offset, [...from, ...place.path], message, type));
  return undefined;
}

/** Notes something that the author of the document should know. */
export function warn(place: Place, message: string): void {
  const { warnings, yaml, root, from } = place.notes;
  if (warnings.length >= maxIssues) return;
  const { offset } = findEntry(root, place.path);
  const { type: _, ...warning } = yaml.issueAt(
    offset,
    [...from, ...place.path],
    message,
    "value_error",
  );
  warnings.push(warning);
}

/** Whether enough was found, so that long lists need no further look. */
export const isFull = (place: Place): boolean => place.notes.issues.length >= maxIssues;

/** A plain scalar as it is written, `1.10` for the number 1.1; undefined when it is no scalar. */
export function writtenOf(place: Place): string | undefined {
  const { value, path, notes } = place;
  if (typeof value === "string") return value;
  if (typeof value !== "number" && typeof value !== "boolean") return undefined;
  const { node, found } = findEntry(notes.root, path);
  return found && isScalar(node) && node.source !== undefined ? node.source : String(value);
}
