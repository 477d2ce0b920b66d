import * as z from "zod";

/** How to log in; what a host leaves out comes from its pool. */
const login = {
  user: z.string(),
  identity_file: z.string().describe("Path of the key on control, or the name of an uploaded one."),
  password: z.string().describe("Stored sealed; shown as asterisks, which mean: as before."),
  port: z.int().min(1).max(65_535),
  proxy_jump: z
    .string()
    .describe("Machines to go through: `[user@]host[:port]`, with commas between."),
};

const HostEntry = z.looseObject({
  ip: z.string().describe("Address, or a host of control's SSH configuration."),
  ...z.object(login).partial().shape,
  host_key: z.string().optional().describe("The fingerprint that it must show: `SHA256:...`."),
  drain: z
    .union([z.boolean(), z.literal("now")])
    .optional()
    .describe("It takes no new cluster; with `now` the one that it has gets another host."),
});

/** Machines that control reaches over SSH. */
export const SshNodePoolConfig = z
  .looseObject({ hosts: z.array(z.union([z.string(), HostEntry])), ...login })
  .partial()
  .meta({ id: "SshNodePoolConfig" });
export type SshNodePoolConfig = z.output<typeof SshNodePoolConfig>;

const status = z.enum(["Ready", "Not Ready"]);

/** Whether a pool can be used. An unknown one is not ready. */
export const SshNodePoolStatus = z
  .object({
    pool_name: z.string(),
    context_name: z.string(),
    status,
    reason: z.string().describe("A line for each host."),
    hosts: z.array(
      z.object({
        name: z.string(),
        status: status.describe("Whether clusters can be given it, or have it."),
        reason: z.string(),
      }),
    ),
  })
  .meta({ id: "SshNodePoolStatus" });
