import { isMap, isScalar, parse } from "yaml";
import { fail } from "../../common/errors.ts";
import { formatIssues } from "../../contract/task/issues.ts";
import { parseYaml } from "../../contract/task/yaml-text.ts";
import { readTask, type Task, type TaskDocument } from "../../contract/task.ts";
import { readVolume } from "../../contract/volume.ts";

/** What a document of each type must have, in words; undefined where it has that. */
const lacks: Readonly<Record<string, (document: TaskDocument) => string | undefined>> = {
  cluster: ({ kind }) => (kind === "task" ? undefined : "must be one task; use the type job"),
  job: () => undefined,
  service: ({ tasks }) => (tasks[0]?.service ? undefined : "needs a `service` section"),
  pool: ({ tasks }) => (tasks[0]?.pool ? undefined : "needs a `pool` section"),
};
const types = [...Object.keys(lacks), "volume"];

/** Throws `ValueError` for a type of recipe that there is not. */
export function checkType(type: string): void {
  if (!types.includes(type))
    fail("ValueError", `recipe_type must be one of ${types.join(", ")}, not ${type}`);
}

/** Throws `ValueError` for a content that others could not use as a recipe of this type. */
export function checkContent(type: string, content: string): void {
  checkType(type);
  if (type === "volume") checkVolume(content);
  else checkTask(type, content);
}

function checkTask(type: string, content: string): void {
  const given = { envs: leftOpen(content, "envs"), secrets: leftOpen(content, "secrets") };
  const reading = readTask(content, given);
  if (!reading.ok) fail("ValueError", `content: ${formatIssues(reading.issues)}`);
  const { document } = reading;
  const isEmpty = document.tasks.every(({ setup, run, pool }) => !(setup || run || pool));
  const why = isEmpty ? "must have a `setup` or a `run`" : lacks[type]?.(document);
  if (why !== undefined) fail("ValueError", `content: a ${type} recipe ${why}`);
  for (const task of document.tasks) refuseOwn(task, given.secrets);
}

/** The variables for which the caller gives the values, with something in their place. */
function leftOpen(content: string, section: "envs" | "secrets"): Record<string, string> {
  const names = parseYaml(content).documents.flatMap(({ contents }) => {
    const variables = isMap(contents) ? contents.get(section) : undefined;
    const items = isMap(variables) ? variables.items : [];
    return items.flatMap(({ key, value }) =>
      isScalar(key) && (value === null || (isScalar(value) && value.value === null))
        ? [String(key.value)]
        : [],
    );
  });
  return Object.fromEntries(names.map((name) => [name, "given"]));
}

/** A recipe has nothing that its author alone has. */
function refuseOwn({ workdir, fileMounts, secrets }: Task, given: object): void {
  const isLocal = Object.values(fileMounts).some(({ kind }) => kind === "path");
  if (workdir?.kind === "folder" || isLocal)
    fail("ValueError", "content: a recipe cannot bring local files; use git or a bucket");
  const secret = Object.keys(secrets).find((name) => !Object.hasOwn(given, name));
  if (secret !== undefined)
    fail(
      "ValueError",
      `content: everybody can read a recipe: leave secrets.${secret} empty, and pass it with --secret`,
    );
}

function checkVolume(content: string): void {
  try {
    readVolume(parse(content));
  } catch (error) {
    fail("ValueError", `content: ${(error as Error).message}`);
  }
}
