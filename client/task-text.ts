import { type Stats, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import {
  type Document,
  isMap,
  isSeq,
  parseAllDocuments,
  parseDocument,
  stringify,
  type YAMLMap,
} from "yaml";
import { fail, ifPossible } from "../common/errors.ts";
import { readNamed } from "../common/files.ts";
import { tasksOf } from "../contract/task/header.ts";
import { formatIssues } from "../contract/task/issues.ts";
import { splitParts } from "../contract/task/parts.ts";
import { parseYaml } from "../contract/task/yaml-text.ts";
import type { TaskOptions } from "./catalog/values.ts";

/** Where the values of a task come from, beside its file. */
export interface TaskPlace {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
}

/** A task as the user wrote it. */
export interface Entrypoint {
  readonly text: string;
  /** The name of the file that it stands in, as the user gave it; undefined for a command. */
  readonly file?: string;
}

/** The keys under `resources` that an option sets; the first is set, the rest make room for it. */
const resourceKeys = {
  cpus: ["cpus"],
  memory: ["memory"],
  gpus: ["accelerators", "gpus"],
  infra: ["infra", "cloud", "region", "zone"],
  instanceType: ["instance_type"],
  useSpot: ["use_spot"],
  diskSize: ["disk_size"],
  imageId: ["image_id"],
  ports: ["ports"],
} as const satisfies Partial<Record<keyof TaskOptions, readonly string[]>>;

type ResourceOption = keyof typeof resourceKeys;

/**
 * The task of an entrypoint: the YAML file it names, else a task that runs the words as a command.
 * Throws `NotFoundError` for a YAML file that is not there, `UsageError` for one that is empty or has words
 * behind it, and for a folder.
 */
export function readEntrypoint(words: readonly string[], cwd: string): Entrypoint {
  const [first, ...more] = words;
  if (first === undefined) return { text: "{}\n" };
  const file = absolutePath(first, cwd);
  const stats = statsAt(file);
  const isYaml = /\.ya?ml$/.test(first);
  if (more.length > 0) {
    if (isYaml && stats?.isFile()) refuseMore(first, more);
    return { text: stringify({ run: words.join(" ") }) };
  }
  if (stats?.isFile()) return { text: filledText(file, first), file: first };
  if (stats?.isDirectory())
    fail("UsageError", `${first} is a folder; name the YAML file of a task, or a command`);
  if (isYaml) fail("NotFoundError", `no file ${first}`);
  return { text: stringify({ run: first }) };
}

const refuseMore = (file: string, more: readonly string[]): never =>
  fail(
    "UsageError",
    `${file} is a task file and takes no further arguments: ${more.join(" ")}; name one file, or put a command in quotes`,
  );

/** Control says what is too much for a task; this keeps what is none from being read. */
const largestFileBytes = 16 * 1024 * 1024;

/** The text of a task file, which must say something. */
function filledText(file: string, name: string): string {
  return filled(readNamed(file, { mostBytes: largestFileBytes }).toString(), name);
}

/** The text itself; throws `UsageError` for one that says nothing. */
export function filled(text: string, name: string): string {
  if (isEmptyTask(text))
    fail("UsageError", `${name} is empty; write what to run in it, such as \`run: echo hello\``);
  return text;
}

/** The task as it is sent: the options laid over its YAML, local paths made absolute. */
export function toTaskText(source: string, options: TaskOptions, place: TaskPlace): string {
  refuseUnsound(source);
  const documents = documentsOf(source);
  if (documents.length === 0) documents.push(parseDocument("{}"));
  for (const document of tasksOf(documents)) {
    mergeOptions(document, options);
    mergeValues(document, "envs", place.env);
    mergeValues(document, "secrets", place.secrets);
    resolvePaths(document, place.cwd);
  }
  return documents.map(String).join("");
}

/** Throws `InvalidTaskError` for a text of which there is no tree to edit; the rest is for control to say. */
function refuseUnsound(source: string): void {
  const yaml = parseYaml(source);
  const issues = [...yaml.issues];
  if (issues.length === 0) splitParts(yaml, { issues, warnings: [] });
  if (issues.length > 0) fail("InvalidTaskError", formatIssues(issues));
}

/** The documents of a text, also where a key is given twice: `refuseUnsound` names it. */
const documentsOf = (text: string): Document[] => [
  ...parseAllDocuments(text, { uniqueKeys: false }),
];

/** The task with what control must know of uploaded files: each lies in the archive by its own path. */
export function withUploadedPaths(text: string, paths: readonly string[]): string {
  const documents = documentsOf(text);
  const mapping = Object.fromEntries(paths.map((path) => [path, path]));
  for (const document of tasksOf(documents))
    document.set("file_mounts_mapping", document.createNode(mapping));
  return documents.map(String).join("");
}

/** Whether a text says nothing at all: no task is meant by it. */
export const isEmptyTask = (source: string): boolean =>
  documentsOf(source).every(({ contents, errors }) => {
    const isEmpty = contents === null || (isMap(contents) && contents.items.length === 0);
    return isEmpty && errors.length === 0;
  });

/** The text of a field of a task, or of the first one that has it. */
export const textIn = (taskText: string, field: string): string | undefined =>
  documentsOf(taskText)
    .map((document): unknown => document.get(field))
    .find((value): value is string => typeof value === "string" && value !== "");

/** Where a task may name local files. */
interface LocalFields {
  readonly workdir?: unknown;
  readonly file_mounts?: object | null;
  readonly service?: { readonly tls?: object | null } | null;
}

/** The local files and folders that a task names, as they stand in its text. */
export function localPathsOf(taskText: string): string[] {
  return documentsOf(taskText).flatMap((document) => {
    const task: unknown = document.toJS();
    if (typeof task !== "object" || task === null) return [];
    const { workdir, file_mounts: mounts, service } = task as LocalFields;
    const tls = Object.values(service?.tls ?? {});
    const sources = Object.values(mounts ?? {}).flatMap((mount) =>
      typeof mount === "object" ? [mount?.source].flat() : [mount],
    );
    return [workdir, ...sources, ...tls].filter(isLocalPath);
  });
}

function mergeOptions(document: Document, options: TaskOptions): void {
  if (document.contents === null) document.contents = document.createNode({}) as never;
  if (options.name !== undefined) document.set("name", options.name);
  if (options.workdir !== undefined) document.set("workdir", options.workdir);
  if (options.numNodes !== undefined) document.set("num_nodes", options.numNodes);
  for (const option of Object.keys(resourceKeys) as ResourceOption[]) {
    const value = options[option];
    if (value !== undefined) setResource(document, resourceKeys[option], value);
  }
}

/** Sets a key for every candidate; the word `none` takes it away. */
export function setResource(document: Document, keys: readonly string[], value: unknown): void {
  for (const resources of candidatesOf(document)) for (const key of keys) resources.delete(key);
  const [key] = keys;
  if (value !== "none") document.setIn(["resources", key], document.createNode(value));
}

/** The mapping under `resources`, and those in its lists of candidates. */
function candidatesOf(document: Document): YAMLMap[] {
  const resources = document.get("resources");
  if (!isMap(resources)) return [];
  const lists = ["any_of", "ordered"].map((key) => resources.get(key)).filter(isSeq);
  return [resources, ...lists.flatMap((list) => list.items).filter(isMap)];
}

function mergeValues(document: Document, key: string, values: Readonly<Record<string, string>>) {
  for (const [name, value] of Object.entries(values)) document.setIn([key, name], value);
}

function resolvePaths(document: Document, cwd: string): void {
  const absolute = (path: readonly (string | number)[]) => {
    const value = document.hasIn(path) ? document.getIn(path) : undefined;
    if (isLocalPath(value)) document.setIn(path, absolutePath(value, cwd));
  };
  absolute(["workdir"]);
  if (document.hasIn(["service", "tls"]))
    for (const file of ["keyfile", "certfile"]) absolute(["service", "tls", file]);
  const mounts = document.get("file_mounts");
  if (!isMap(mounts)) return;
  for (const { key } of mounts.items) {
    absolute(["file_mounts", String(key)]);
    const source = ["file_mounts", String(key), "source"];
    absolute(source);
    const list = document.getIn(source);
    if (isSeq(list)) for (const at of list.items.keys()) absolute([...source, at]);
  }
}

/** Whether a value is the path of a local file rather than an address. */
export const isLocalPath = (value: unknown): value is string =>
  typeof value === "string" && !/^\w+:\/\//.test(value);

/** A path as the user wrote it, from the root of this machine. */
export const absolutePath = (path: string, cwd: string): string => resolve(cwd, expandHome(path));

/** What is at a path; undefined where nothing can be, such as at a long command. */
export const statsAt = (path: string): Stats | undefined => ifPossible(() => statSync(path));

const expandHome = (path: string) =>
  path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
