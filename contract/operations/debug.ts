import * as z from "zod";
import { operationsOf } from "../../common/operation.ts";
import { caps, integer, listOf, seconds, settings, text } from "../caps.ts";
import { Bytes, body, optional, path } from "./fields.ts";

/** Bundles for people who look for a fault. */
export const debugOperations = operationsOf("", {
  createDump: {
    name: "create_debug_dump",
    route: "POST /debug/dump_create",
    mode: "async",
    queue: "long",
    summary: "Collect logs and records in a bundle.",
    access: "admin",
    input: body("CreateDebugDumpBody", {
      request_ids: optional(listOf(text)).describe("Ids or prefixes."),
      cluster_names: optional(listOf(text)),
      managed_job_ids: optional(listOf(integer)),
      recent_minutes: optional(z.number().min(0).max(caps.integer)).describe(
        "Everything of the last n minutes.",
      ),
      overall_deadline: optional(seconds).describe("Unix seconds by which it is to be done."),
      client_info: optional(settings).describe("Facts about the client."),
    }),
    output: z.string().describe("Path of the zip on control."),
    errors: ["ValueError"],
  },
  downloadDump: {
    name: "debug.dump_download",
    route: "GET /debug/dump_download/{dump_filename}",
    mode: "file",
    summary: "Fetch a bundle; it is deleted then.",
    access: "admin",
    input: path({ dump_filename: text }),
    output: Bytes,
    errors: ["PermissionDeniedError", "NotFoundError"],
  },
});
