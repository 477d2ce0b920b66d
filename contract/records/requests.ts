import * as z from "zod";
import { requestMachine } from "../statuses.ts";
import { record } from "./record.ts";
import { UserFull } from "./users.ts";

const at = z.number().describe("Unix seconds.");

/** A stored request. `return_value` and `error` are JSON text inside of JSON. */
export const RequestPayload = record("RequestPayload", {
  request_id: z.string(),
  name: z.string().describe("Name of the request, with the prefix of the protocol."),
  entrypoint: z.string(),
  request_body: z.string(),
  status: z.enum(requestMachine.names),
  created_at: at,
  user_id: z.string(),
  return_value: z.string().describe("JSON text of the result."),
  error: z.string().describe("JSON text: null, or an object with type and message."),
  pid: z.int().nullable(),
  schedule_type: z.enum(["long", "short"]),
  user_name: z.string().nullable().default(null),
  cluster_name: z.string().nullable().default(null),
  status_msg: z.string().nullable().default(null).describe("Why it still waits."),
  should_retry: z.boolean().default(false).describe("Send the original call again."),
  finished_at: at.nullable().default(null),
  file_mounts_blob_id: z.string().nullable().default(null),
});
export type RequestPayload = z.output<typeof RequestPayload>;

/** What an operation of mode `receipt` answers at once. */
export const Receipt = z
  .object({ status: z.literal("success"), request_id: z.string(), message: z.string() })
  .meta({ id: "Receipt" });
export type Receipt = z.output<typeof Receipt>;

/** The state of control and who the caller is. */
export const HealthRecord = z
  .object({
    status: z.enum(["healthy", "unhealthy", "version_mismatch", "needs_auth"]),
    api_version: z.string(),
    version: z.string(),
    version_on_disk: z.string(),
    release: z.string().describe("Of this product; version is that of the protocol."),
    commit: z.string().describe("That control was built from; empty if it does not know."),
    basic_auth_enabled: z.boolean(),
    user: UserFull.nullable(),
    service_account_token_enabled: z.boolean(),
    ingress_basic_auth_enabled: z.boolean(),
    latest_version: z.string().nullable(),
    external_proxy_auth_enabled: z.boolean(),
    telemetry_enabled: z.boolean(),
    restrict_config_to_admins: z.boolean(),
  })
  .partial()
  .required({ status: true })
  .meta({ id: "HealthRecord" });
export type HealthRecord = z.output<typeof HealthRecord>;

/** A part that was added to control. */
export const PluginInfo = record("PluginInfo", {
  js_extension_path: z.string().nullable(),
  requires_early_init: z.boolean(),
  name: z.string().optional(),
  version: z.string().optional(),
  commit: z.string().optional(),
});
