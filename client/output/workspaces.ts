import * as z from "zod";
import {
  type WorkspaceConfig,
  WorkspaceLimits,
  WorkspaceUse,
} from "../../contract/records/workspaces.ts";
import { form, instant } from "./shapes.ts";

/** A workspace as control tells of it, with its use. */
export interface WorkspaceRow {
  readonly config: WorkspaceConfig;
  readonly of: WorkspaceUse;
  /** Launches that name no workspace go there. */
  readonly current: boolean;
}

const names = z.array(z.string());

/** A workspace, as `workspaces list` prints it. */
export const workspaceForm = form(
  z.strictObject({
    name: z.string(),
    current: z.boolean().describe("Whether launches that name no workspace go there."),
    private: z.boolean(),
    allowed_users: names,
    allowed_groups: names,
    allowed_infra: names.nullable().describe("Null is anywhere."),
    resources: z.record(z.string(), z.unknown()).describe("Defaults for its tasks."),
    limits: WorkspaceLimits,
    use: WorkspaceUse.shape.use,
    spent: z.string().nullable().describe("Which limit on spending is reached."),
  }),
  ({ config, of, current }: WorkspaceRow) => ({
    name: of.workspace,
    current,
    private: config.private ?? false,
    allowed_users: config.allowed_users ?? [],
    allowed_groups: config.allowed_groups ?? [],
    allowed_infra: config.allowed_infra ?? null,
    resources: config.resources ?? {},
    limits: of.limits,
    use: of.use,
    spent: of.spent,
  }),
);

/** The configuration of control, as `api config show` prints it. */
export const configurationForm = form(
  z.looseObject({
    version: z.int(),
    workspaces: z.record(z.string(), z.unknown()),
  }),
  (row: { version: number; workspaces: Record<string, unknown> }) => row,
);

const Version = z.strictObject({ version: z.int(), user: z.string(), created_at: instant });

/** A version of it, as `api config history` prints it. */
export const configurationVersionForm = form(Version, (row: z.output<typeof Version>) => row);
