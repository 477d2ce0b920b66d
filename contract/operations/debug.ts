import * as z from "zod";
import { type Operation, operation } from "../../common/operation.ts";
import { Bytes, body, optional, path } from "./fields.ts";

/** Bundles for people who look for a fault. */
export const debugOperations = {
  createDump: operation({
    name: "create_debug_dump",
    route: "POST /debug/dump_create",
    mode: "async",
    queue: "long",
    summary: "Collect logs and records in a bundle.",
    access: "admin",
    input: body("CreateDebugDumpBody", {
      request_ids: optional(z.array(z.string())).describe("Ids or prefixes."),
      cluster_names: optional(z.array(z.string())),
      managed_job_ids: optional(z.array(z.int())),
      recent_minutes: optional(z.number()).describe("Everything of the last n minutes."),
      client_info: optional(z.record(z.string(), z.unknown())).describe("Facts about the client."),
    }),
    output: z.string().describe("Path of the zip on control."),
    errors: ["ValueError"],
  }),
  downloadDump: operation({
    name: "debug.dump_download",
    route: "GET /debug/dump_download/{dump_filename}",
    mode: "file",
    summary: "Fetch a bundle; it is deleted then.",
    access: "admin",
    input: path({ dump_filename: z.string() }),
    output: Bytes,
    errors: ["PermissionDeniedError", "NotFoundError"],
  }),
} satisfies Record<string, Operation>;
