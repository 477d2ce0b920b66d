import * as z from "zod";
import { fail } from "../../common/errors.ts";
import { wordsOf } from "../../contract/issue-words.ts";
import {
  Configuration,
  cloudNames,
  type LaunchRules,
  WorkspaceConfig,
} from "../../contract/records/workspaces.ts";
import { hintOf } from "../../contract/spelling.ts";
import { fieldOf, type Path } from "../../contract/task/issues.ts";
import { readTask } from "../../contract/task.ts";
import { checkWorkspaceName, defaultWorkspace } from "./schema.ts";

/** Reads what a client sends as a workspace or as the whole configuration. */

/** More are not told: a reader corrects the first ones and asks again. */
const issuesAtMost = 20;

/** What existing clients write at the top and where it is set here. */
const setElsewhere: Readonly<Record<string, string>> = {
  active_workspace: "each user chooses one: outrigger workspaces use NAME",
  admin_policy: "use limits and allowed_infra",
  api_server: "clients set the address themselves: docs/contexts.md",
  auth: "set OUTRIGGER_LOGIN where control starts",
  db: "control keeps its state in its own home",
  rbac: "set OUTRIGGER_DEFAULT_ROLE where control starts",
};

/** A workspace; throws `ValueError` with the place of everything that is wrong. */
export const readWorkspace = (given: unknown, clouds: readonly string[]): WorkspaceConfig =>
  read(WorkspaceConfig, given, [], clouds) as WorkspaceConfig;

/**
 * The whole configuration; throws `ValueError` as `readWorkspace` does, and
 * `InvalidWorkspaceNameError` for a workspace of a wrong name.
 */
export function readConfiguration(given: unknown, clouds: readonly string[]): Configuration {
  const document = read(Configuration, given, [], clouds) as Configuration;
  for (const name of Object.keys(document.workspaces ?? {})) checkWorkspaceName(name);
  if (document.workspaces !== undefined && !Object.hasOwn(document.workspaces, defaultWorkspace))
    fail("ValueError", `workspaces: ${defaultWorkspace} is missing, and cannot be deleted`);
  return document;
}

function read(
  shape: z.ZodType,
  given: unknown,
  path: Path,
  clouds: readonly string[],
): Record<string, unknown> {
  const parsed = shape.safeParse(given);
  const issues = parsed.success
    ? meaningIssues(given as Configuration, clouds)
    : parsed.error.issues.slice(0, issuesAtMost).flatMap((issue) => linesOf(shape, issue));
  if (issues.length === 0) return given as Record<string, unknown>;
  const told = issues.slice(0, issuesAtMost).map(({ at, says }) => {
    const field = fieldOf([...path, ...at]);
    return field === "" ? says : `${field}: ${says}`;
  });
  return fail("ValueError", told.join("\n"));
}

interface Issue {
  readonly at: Path;
  readonly says: string;
}

function linesOf(shape: z.ZodType, issue: z.core.$ZodIssue): Issue[] {
  const at = issue.path as Path;
  if (issue.code !== "unrecognized_keys") return [{ at, says: wordsOf(issue) }];
  const known = keysAt(shape, at);
  return issue.keys.slice(0, issuesAtMost).map((key) => {
    const elsewhere = at.length === 0 && shape === Configuration ? setElsewhere[key] : undefined;
    const hint = elsewhere ?? hintOf(key, known, `expected one of ${known.join(", ")}`);
    return { at: [...at, key], says: `unknown field \`${key.slice(0, 80)}\`; ${hint}` };
  });
}

/** The keys that a shape has at a path. */
function keysAt(shape: z.ZodType, path: Path): string[] {
  let at: z.core.$ZodType | undefined = shape;
  for (const step of [...path, undefined]) {
    while (at instanceof z.ZodOptional) at = at.unwrap();
    if (step === undefined) break;
    at = at instanceof z.ZodRecord ? at.valueType : (at as z.ZodObject).shape?.[step];
  }
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}

/** What shapes cannot say of the rules for all, and of those of each workspace. */
function meaningIssues(document: Configuration, clouds: readonly string[]): Issue[] {
  const workspaces = Object.entries(document.workspaces ?? {});
  return [
    ...rulesIssues(document, [], clouds),
    ...(document.allowed_clouds ?? []).flatMap((infra, at) =>
      infraIssues(infra, ["allowed_clouds", at], clouds),
    ),
    ...workspaces.flatMap(([name, rules]) => rulesIssues(rules, ["workspaces", name], clouds)),
  ];
}

function rulesIssues(
  { allowed_infra: infra = [], resources }: LaunchRules,
  path: Path,
  clouds: readonly string[],
): Issue[] {
  return [
    ...infra.flatMap((one, at) => infraIssues(one, [...path, "allowed_infra", at], clouds)),
    ...(resources === undefined ? [] : resourceIssues(resources, path)),
  ];
}

/** A place whose cloud nobody knows allows nothing, which is never meant. */
function infraIssues(infra: string, at: Path, clouds: readonly string[]): Issue[] {
  const [cloud = ""] = infra.toLowerCase().split("/");
  const known = [...new Set([...clouds, ...cloudNames])];
  if (known.includes(cloud) || cloud === "*") return [];
  return [{ at, says: `there is no cloud ${cloud}; ${hintOf(cloud, known, clouds.join(", "))}` }];
}

function resourceIssues(resources: Readonly<Record<string, unknown>>, path: Path): Issue[] {
  const lists = ["any_of", "ordered"].filter((name) => Object.hasOwn(resources, name));
  const reading = readTask(JSON.stringify({ resources }));
  return [
    ...lists.map((name) => ({
      at: [...path, "resources", name],
      says: "defaults cannot list alternatives; name one kind of machine",
    })),
    ...(reading.ok
      ? []
      : reading.issues.map(({ path: at, message }) => ({ at: [...path, ...at], says: message }))),
  ];
}
