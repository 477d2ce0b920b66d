import { fail } from "../../common/errors.ts";
import type { InputOf, Operation } from "../../common/operation.ts";
import { userOperations } from "../../contract/operations/users.ts";
import { workspaceOperations as rows } from "../../contract/operations/workspaces.ts";
import type { WorkspaceUse } from "../../contract/records/workspaces.ts";
import { seesWorkspace } from "../access/identity.ts";
import { type Bound, bind, type Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { seconds } from "../wire/fields.ts";
import { changeConfiguration } from "./change.ts";
import type { StoredConfiguration } from "./configurations.ts";
import { readConfiguration, readWorkspace } from "./document.ts";
import { visibleWorkspaces } from "./find.ts";
import { noSuchWorkspace } from "./membership.ts";
import { preferWorkspace, workspaceOf } from "./preference.ts";
import { checkWorkspaceName, defaultWorkspace, type Workspaces } from "./schema.ts";
import { masked, unmasked } from "./secrets.ts";
import { listVersions } from "./store.ts";
import { findUse } from "./use.ts";

/** Workspaces, and the configuration that they are a part of. */
export const workspaceOperations: Bound[] = [
  bind(rows.get, async (ctx, _input, call) => masked(await visibleWorkspaces(ctx, call))),
  bind(rows.create, create),
  bind(rows.update, update),
  bind(rows.delete, remove),
  bind(rows.getConfig, async (ctx, _input, call) =>
    shownTo(call, await ctx.configurations.current()),
  ),
  bind(rows.updateConfig, updateConfig),
  bind(rows.configHistory, async ({ db }) =>
    (await listVersions(db)).map(({ created_at: at, ...version }) => ({
      ...version,
      created_at: seconds(at),
    })),
  ),
  bind(rows.use, listUse),
  bind(userOperations.workspace, workspaceOf),
  bind(userOperations.preferWorkspace, preferWorkspace),
];

type Named = InputOf<typeof rows.create>;

const cloudsOf = ({ providers }: Context): string[] => providers.map(({ name }) => name);

async function create(ctx: Context, { workspace_name: name, config }: Named, call: Call) {
  checkWorkspaceName(name);
  const workspace = readWorkspace(unmasked(config, undefined), cloudsOf(ctx));
  return changeWorkspaces(ctx, rows.create, call, (before) => {
    if (Object.hasOwn(before, name))
      fail("ValueError", `workspace ${name} already exists; update it instead`);
    return { ...before, [name]: workspace };
  });
}

async function update(ctx: Context, { workspace_name: name, config }: Named, call: Call) {
  return changeWorkspaces(ctx, rows.update, call, (before) => {
    requireKnown(before, name);
    const workspace = readWorkspace(unmasked(config, before[name]), cloudsOf(ctx));
    return { ...before, [name]: workspace };
  });
}

async function remove(
  ctx: Context,
  { workspace_name: name }: InputOf<typeof rows.delete>,
  call: Call,
) {
  if (name === defaultWorkspace) fail("ValueError", `workspace ${name} cannot be deleted`);
  return changeWorkspaces(ctx, rows.delete, call, (before) => {
    requireKnown(before, name);
    const { [name]: _, ...others } = before;
    return others;
  });
}

/** Changes the workspaces of the configuration; answers all of them, without their secrets. */
async function changeWorkspaces(
  ctx: Context,
  row: Operation,
  call: Call,
  change: (before: Workspaces) => Workspaces,
) {
  const changed = ({ document, workspaces }: StoredConfiguration) => ({
    ...document,
    workspaces: change(workspaces),
  });
  return masked((await changeConfiguration(ctx, row, changed, call)).workspaces);
}

function requireKnown(workspaces: Workspaces, name: string): void {
  if (!Object.hasOwn(workspaces, name))
    fail("ValueError", noSuchWorkspace(name, Object.keys(workspaces)));
}

async function updateConfig(
  ctx: Context,
  { config }: InputOf<typeof rows.updateConfig>,
  call: Call,
) {
  const { version: expected, ...given } = config;
  const stored = await changeConfiguration(
    ctx,
    rows.updateConfig,
    ({ version, document }) => {
      if (expected !== undefined && expected !== version)
        fail(
          "ConflictError",
          `the configuration is at version ${version}, and this one was made from version ${expected}; ` +
            "read it again and repeat your change",
        );
      return readConfiguration(unmasked(given, document), cloudsOf(ctx));
    },
    call,
  );
  return shownTo(call, stored);
}

/** The configuration without its secrets; members of some workspaces see only those. */
function shownTo(call: Call, { version, document, workspaces }: StoredConfiguration) {
  const seen = Object.entries(workspaces).filter(([name]) => seesWorkspace(call, name));
  return { version, ...masked(document), workspaces: masked(Object.fromEntries(seen)) };
}

async function listUse(ctx: Context, _input: unknown, call: Call): Promise<WorkspaceUse[]> {
  const own = Object.keys(await visibleWorkspaces(ctx, call)).sort();
  return Promise.all(own.map((workspace) => findUse(ctx, workspace)));
}
