import * as z from "zod";

const Cloud = z.object({ disabled: z.boolean().optional() }).catchall(z.unknown());

/** A workspace's settings: who may use it, then a block a cloud. */
export const WorkspaceConfig = z
  .object({
    private: z.boolean().optional().describe("Only for allowed_users, allowed_groups and admins."),
    allowed_users: z.array(z.string()).optional().describe("Names or ids."),
    allowed_groups: z.array(z.string()).optional().describe("Groups of the identity provider."),
  })
  .catchall(Cloud)
  .meta({ id: "WorkspaceConfig" });
export type WorkspaceConfig = z.output<typeof WorkspaceConfig>;
