import * as z from "zod";
import {
  type WorkspaceConfig,
  WorkspaceLimits,
  WorkspaceUse,
} from "../../contract/records/workspaces.ts";
import { form, formOf, instant, type Ways } from "./shapes.ts";

/** A workspace as control tells of it, with its use. */
export interface WorkspaceRow {
  readonly config: WorkspaceConfig;
  readonly of: WorkspaceUse;
  /** Launches that name no workspace go there. */
  readonly current: boolean;
}

const names = z.array(z.string());

/** A workspace, as `workspaces list` prints it. */
export const workspaceForm = formOf(({ of }: Ways<WorkspaceRow>) => ({
  name: of(z.string(), (row) => row.of.workspace),
  current: z.boolean().describe("Whether launches that name no workspace go there."),
  private: of(z.boolean(), ({ config }) => config.private ?? false),
  allowed_users: of(names, ({ config }) => config.allowed_users ?? []),
  allowed_groups: of(names, ({ config }) => config.allowed_groups ?? []),
  allowed_infra: of(
    names.nullable().describe("Null is anywhere."),
    ({ config }) => config.allowed_infra ?? null,
  ),
  resources: of(
    z.record(z.string(), z.unknown()).describe("Defaults for its tasks."),
    ({ config }) => config.resources ?? {},
  ),
  limits: of(WorkspaceLimits, (row) => row.of.limits),
  use: of(WorkspaceUse.shape.use, (row) => row.of.use),
  spent: of(
    z.string().nullable().describe("Which limit on spending is reached."),
    (row) => row.of.spent,
  ),
}));

/** The configuration of control, as `api config show` prints it. */
export const configurationForm = form(
  z.looseObject({ version: z.int(), workspaces: z.record(z.string(), z.unknown()) }),
);

const Version = z.strictObject({ version: z.int(), user: z.string(), created_at: instant });

/** A version of it, as `api config history` prints it. */
export const configurationVersionForm = form(Version);
