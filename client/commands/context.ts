import { resolve } from "node:path";
import { fail } from "../../common/errors.ts";
import { envNames } from "../../common/product.ts";
import type { Command } from "../catalog.ts";
import {
  type Context,
  type Contexts,
  checkName,
  getContext,
  homeContext,
  readContexts,
  writeContexts,
} from "../contexts.ts";
import { readEndpoint } from "../endpoint.ts";
import { keepContext } from "../logins.ts";
import { contextForm } from "../output/configuration.ts";
import type { Column } from "../rendering.ts";
import type { SelectionOptions } from "../selection.ts";
import { readHome } from "../settings.ts";
import type { Run, World } from "../world.ts";
import { tellActions, tellDone } from "./actions.ts";
import { answerRows, type OutputOptions } from "./answers.ts";

/** `outrigger context add`. */
export const add: Command<"context add"> = async (
  world,
  [name = ""],
  { endpoint, tokenFile, workspace, use: isUsed = false },
) => {
  const { terminal, env, cwd } = world;
  checkName(name);
  if (endpoint === undefined)
    fail("UsageError", "--endpoint: name the address of the control plane");
  const home = readHome(env);
  if (Object.hasOwn(readContexts(home).contexts, name))
    fail(
      "ConflictError",
      `context ${name} exists; remove it first: outrigger context remove ${name}`,
    );
  const context: Context = {
    endpoint: readEndpoint(endpoint, "--endpoint"),
    ...(tokenFile !== undefined && { tokenFile: resolve(cwd, tokenFile) }),
    ...(workspace !== undefined && { workspace }),
  };
  keepContext(home, name, context, isUsed);
  if (isUsed) tellUsed(terminal, env, name);
  else terminal.note(`Added. Use it: outrigger context use ${name}`);
  return tellDone(world, "context add", name);
};

/** `outrigger context use`. */
export const use: Run<object> = async (world, [name = ""]) => {
  const { terminal, env } = world;
  const home = readHome(env);
  const contexts = readContexts(home);
  if (name !== homeContext) getContext(contexts, name, "context use");
  writeContexts(home, chosenIn(contexts, name));
  tellUsed(terminal, env, name);
  return tellDone(world, "context use", name);
};

/** `outrigger context remove`. */
export const remove: Run<Pick<SelectionOptions, "ignoreNotFound">> = async (
  world,
  [name = ""],
  { ignoreNotFound = false },
) => {
  const { terminal, env } = world;
  const home = readHome(env);
  const contexts = readContexts(home);
  if (ignoreNotFound && !Object.hasOwn(contexts.contexts, name)) {
    terminal.note(`No context ${name} to remove.`);
    return tellActions(world, []);
  }
  getContext(contexts, name, "context remove");
  const { [name]: _, ...others } = contexts.contexts;
  const isUsed = contexts.current === name;
  writeContexts(home, { ...(isUsed ? {} : contexts), contexts: others });
  if (isUsed) tellUsed(terminal, env, homeContext);
  return tellDone(world, "context remove", name);
};

const chosenIn = ({ contexts }: Contexts, name: string): Contexts =>
  name === homeContext ? { contexts } : { contexts, current: name };

/** Says which context is used, and which variables are used in its place. */
export function tellUsed(terminal: World["terminal"], env: World["env"], name: string): void {
  terminal.note(`Commands use context ${name} now.`);
  for (const variable of ["CONTEXT", "ENDPOINT"].flatMap(envNames))
    if (env[variable]) terminal.note(`But ${variable} is set here, and wins over it.`);
}

interface ContextRow {
  readonly name: string;
  readonly endpoint: string | null;
  readonly token_file: string | null;
  readonly workspace: string | null;
  readonly current: boolean;
}

/** `outrigger context list`. */
export const list: Run<OutputOptions> = async (world, _operands, options) => {
  const { current = homeContext, contexts } = readContexts(readHome(world.env));
  const rows = [[homeContext, undefined] as const, ...Object.entries(contexts)].map(
    ([name, context]): ContextRow => ({
      name,
      endpoint: context?.endpoint ?? null,
      token_file: context?.tokenFile ?? null,
      workspace: context?.workspace ?? null,
      current: name === current,
    }),
  );
  answerRows(world, options, { form: contextForm, rows, columns, isWhole: true, empty: "" });
};

const columns: readonly Column<ContextRow>[] = [
  { title: "CONTEXT", text: ({ name }) => name },
  { title: "IN USE", text: ({ current }) => (current ? "yes" : "") },
  { title: "ENDPOINT", text: ({ endpoint }) => endpoint ?? "(your home's control plane)" },
  { title: "TOKEN FILE", text: ({ token_file: file }) => file ?? "-" },
  { title: "WORKSPACE", text: ({ workspace }) => workspace ?? "-" },
];
