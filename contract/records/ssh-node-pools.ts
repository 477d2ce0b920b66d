import * as z from "zod";

/** Machines that control reaches over SSH; what a host leaves out comes from its pool. */
export const SshNodePoolConfig = z
  .looseObject({
    hosts: z.array(z.union([z.string(), z.looseObject({ ip: z.string() })])),
    user: z.string(),
    identity_file: z.string().describe("Path of the key on control."),
    password: z.string(),
  })
  .partial()
  .meta({ id: "SshNodePoolConfig" });
export type SshNodePoolConfig = z.output<typeof SshNodePoolConfig>;

/** Whether a pool can be used. An unknown one is not ready. */
export const SshNodePoolStatus = z
  .object({
    pool_name: z.string(),
    context_name: z.string(),
    status: z.enum(["Ready", "Not Ready"]),
    reason: z.string(),
  })
  .meta({ id: "SshNodePoolStatus" });
