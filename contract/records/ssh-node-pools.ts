import * as z from "zod";
import { filePath, listOf, text } from "../caps.ts";
import { record } from "./record.ts";

/** How to log in; what a host leaves out comes from its pool. */
const login = {
  user: text,
  identity_file: filePath.describe("Path of the key on control, or the name of an uploaded one."),
  password: text.describe("Stored sealed; shown as asterisks, which mean: as before."),
  port: z.int().min(1).max(65_535),
  proxy_jump: text.describe("Machines to go through: `[user@]host[:port]`, with commas between."),
};

const HostEntry = z.looseObject({
  ip: text.describe("Address, or a host of control's SSH configuration."),
  ...z.object(login).partial().shape,
  host_key: text.optional().describe("The fingerprint of its host key: `SHA256:...`."),
  drain: z
    .union([z.boolean(), z.literal("now")])
    .optional()
    .describe(
      "It gets no new clusters; with `now`, its current cluster also moves to another host.",
    ),
});

/** Machines that control reaches over SSH. */
export const SshNodePoolConfig = z
  .looseObject({ hosts: listOf(z.union([text, HostEntry])), ...login })
  .partial()
  .meta({ id: "SshNodePoolConfig" });
export type SshNodePoolConfig = z.output<typeof SshNodePoolConfig>;

const status = z.enum(["Ready", "Not Ready"]);

/** Whether a pool can be used. An unknown one is not ready. */
export const SshNodePoolStatus = record("SshNodePoolStatus", {
  pool_name: z.string(),
  context_name: z.string(),
  status,
  reason: z.string().describe("A line for each host."),
  hosts: z.array(
    z.object({
      name: z.string(),
      status: status.describe("Whether clusters can use it."),
      reason: z.string(),
    }),
  ),
});
