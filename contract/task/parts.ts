import { isMap, isScalar, type ParsedNode } from "yaml";
import { isHeader } from "./header.ts";
import type { Path, TaskIssue, TaskWarning } from "./issues.ts";
import { type Place, refuse } from "./place.ts";
import { openPlain } from "./plain.ts";
import { isMapping, isWithin } from "./readers.ts";
import { keyOf, type YamlText } from "./yaml-text.ts";

/** The parts of a document: the header, if there is one, and at least one task. */
export interface Parts {
  readonly header: Place | undefined;
  readonly tasks: readonly Place[];
}

/** Where what is found wrong is collected. */
export interface Findings {
  readonly issues: TaskIssue[];
  readonly warnings: TaskWarning[];
}

/** No pipeline or job group has more tasks. */
const mostTasks = 256;

/** Tells header and tasks apart. Empty documents between separators are no parts. */
export function splitParts(yaml: YamlText, { issues, warnings }: Findings): Parts {
  const plain = openPlain(yaml, issues);
  const placeOf = (root: ParsedNode | null, from: Path): Place => {
    const notes = { yaml, root, from, issues, warnings };
    const value = plain(root, from) ?? null;
    return { value, path: [], notes };
  };
  const roots = yaml.documents.map(({ contents }) => contents).filter(isFilled);
  const [first = null] = roots;
  const hasHeader = isHeader(rootKeys(first), roots.length);
  const bodies = hasHeader ? roots.slice(1) : roots;
  const header = hasHeader ? placeOf(first, []) : undefined;
  const whole = placeOf(null, []);
  if (header !== undefined && bodies.length === 0) {
    refuse(header, "is a header without tasks; add each task below it, after a line `---`");
    return { header: undefined, tasks: [whole] };
  }
  if (!isWithin(whole, bodies.length, mostTasks)) return { header: undefined, tasks: [whole] };
  const tasks = bodies.map((root, at) => placeOf(root, bodies.length > 1 ? ["tasks", at] : []));
  for (const task of tasks) refuseNoTask(task);
  return { header, tasks: tasks.length > 0 ? tasks : [whole] };
}

const isFilled = (root: ParsedNode | null): root is ParsedNode =>
  root !== null && !(isScalar(root) && root.value === null);

function rootKeys(root: ParsedNode | null): string[] | undefined {
  return isMap(root) ? root.items.map(({ key }) => keyOf(key) ?? "") : undefined;
}

function refuseNoTask(place: Place): void {
  const { value } = place;
  if (typeof value === "string")
    refuse(place, "the task is plain text; write it as fields, such as `run: ...`", "type_error");
  else if (value !== null && !isMapping(value))
    refuse(place, "the task must be a mapping of fields, such as `run: ...`", "type_error");
}
