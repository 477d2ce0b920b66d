import { type Document, isMap } from "yaml";
import { asText } from "./amounts.ts";
import { child, gives, type Place, refuse } from "./place.ts";
import { choice, isMapping, keysOf, listOf, readFields, reads, text } from "./readers.ts";
import { either, map } from "./schema.ts";
import { parseSeconds } from "./units.ts";

/** What stands above the tasks of a document with several parts. */
export interface Header {
  readonly name: string | undefined;
  readonly execution: "serial" | "parallel";
  /** Jobs that a group waits for; empty means all. */
  readonly primaryTasks: readonly string[];
  /** How long other jobs go on after the primary ones ended, by job name. */
  readonly terminationDelaySeconds: TerminationDelays;
}

export interface TerminationDelays {
  readonly default: number;
  readonly byTask: Readonly<Record<string, number>>;
}

const headerKeys = ["execution", "primary_tasks", "termination_delay"];

/** Whether a mapping with these keys, the first of so many parts, is a header and no task. */
export function isHeader(keys: readonly string[] | undefined, parts: number): boolean {
  if (keys === undefined) return false;
  if (keys.some((key) => headerKeys.includes(key))) return true;
  return parts > 1 && keys.every((key) => key === "name");
}

/** The parts of a document that are tasks: there may be a header before them. */
export function tasksOf(documents: readonly Document[]): readonly Document[] {
  const filled = documents.filter(({ contents }) => contents !== null);
  const [first] = filled;
  if (first === undefined) return documents.slice(-1);
  const keys = isMap(first.contents) ? Object.keys(first.toJS() ?? {}) : undefined;
  return isHeader(keys, filled.length) ? filled.slice(1) : filled;
}

const delay = reads(
  { type: ["integer", "string"] },
  (place) =>
    parseSeconds(asText(place.value), "s") ??
    refuse(place, "must be seconds, or a number with one of s, m, h, d, w: `10m`"),
);

const delays = reads<TerminationDelays>(either(delay.schema, map(delay.schema)), (place) => {
  if (!isMapping(place.value)) return { default: delay(place) ?? 0, byTask: {} };
  const entries = (keysOf(place) ?? []).map((key) => [key, delay(child(place, key)) ?? 0] as const);
  const { default: fallback = 0, ...byTask } = Object.fromEntries(entries);
  return { default: fallback, byTask };
});

const headerName = reads(text.schema, (place) => {
  const name = text(place);
  if (name === undefined) return undefined;
  return /^[\w.-]+$/.test(name) ? name : refuse(place, "must be letters, digits, `.`, `-` and `_`");
});

const jobNameRule = "must be letters, digits, `-` and `_`";
const isJobName = (name: string) => /^[\w-]+$/.test(name);

/** Refuses tasks of a job group whose name is missing, given twice, or no name of a job. */
export function refuseJobNames(
  tasks: readonly Place[],
  names: readonly (string | undefined)[],
): void {
  for (const [at, place] of tasks.entries()) {
    const name = names[at];
    if (!gives(place, "name"))
      refuse(place, "needs a `name`; it is part of a job group", "missing");
    if (name === undefined) continue;
    if (!isJobName(name)) refuse(child(place, "name"), jobNameRule);
    if (names.indexOf(name) < at) refuse(child(place, "name"), "is the name of another task above");
  }
}

export const headerReaders = {
  name: headerName,
  execution: choice("serial", "parallel"),
  primary_tasks: listOf(text),
  termination_delay: delays,
};

/** Reads the header; `names` are the names of the tasks below it. */
export function readHeader(place: Place, names: readonly (string | undefined)[]): Header {
  const given = readFields(place, headerReaders);
  const header: Header = {
    name: given.name,
    execution: given.execution ?? "serial",
    primaryTasks: given.primary_tasks ?? [],
    terminationDelaySeconds: given.termination_delay ?? { default: 0, byTask: {} },
  };
  checkNames(place, header, names);
  if (header.execution === "serial") refuseGroupFields(place);
  else checkGroupName(place, header.name);
  return header;
}

function checkNames(place: Place, header: Header, names: readonly (string | undefined)[]): void {
  const refuseUnless = (at: Place, name: string) => {
    if (!names.includes(name)) refuse(at, `no task below is named \`${name.slice(0, 40)}\``);
  };
  const primary = child(place, "primary_tasks");
  for (const [at, name] of header.primaryTasks.entries()) refuseUnless(child(primary, at), name);
  const delayed = child(place, "termination_delay");
  for (const name of Object.keys(header.terminationDelaySeconds.byTask))
    refuseUnless(child(delayed, name), name);
}

function refuseGroupFields(place: Place): void {
  for (const field of ["primary_tasks", "termination_delay"])
    if (gives(place, field)) refuse(child(place, field), "is for `execution: parallel` only");
}

function checkGroupName(place: Place, name: string | undefined): void {
  if (!gives(place, "name")) refuse(place, "a job group needs a `name`", "missing");
  else if (name !== undefined && !isJobName(name)) refuse(child(place, "name"), jobNameRule);
}
