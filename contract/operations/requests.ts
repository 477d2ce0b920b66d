import * as z from "zod";
import { operationsOf } from "../../common/operation.ts";
import { caps, filePath, listOf, text } from "../caps.ts";
import { HealthRecord, PluginInfo, RequestPayload } from "../records/requests.ts";
import { Bytes, body, optional, query, queryBoolean, queryInteger, queryList } from "./fields.ts";

const completion = query({ incomplete: text.describe("Beginning of the name.") });

/** Stored requests, and what a client asks of control itself. */
export const requestOperations = operationsOf("api.", {
  get: {
    route: "GET /api/get",
    summary: "Wait for a request to end and get its result.",
    access: "viewer",
    input: query({ request_id: text.describe("Id, or a prefix that fits one request.") }),
    output: RequestPayload,
    otherAnswers: { 500: "The request failed; the record has its error." },
    errors: ["NotFoundError", "ValueError"],
  },
  stream: {
    route: "GET /api/stream",
    mode: "stream",
    summary: "Stream the log of a request, or a log file of control.",
    access: "viewer",
    input: query({
      request_id: optional(text).describe("Id or prefix; null is the newest request."),
      log_path: optional(filePath).describe("File within the log folder; not with request_id."),
      tail: optional(queryInteger()).describe("Last n lines; null is everything."),
      follow: queryBoolean(true).describe("Keep streaming until the request ended."),
      format: z.enum(["auto", "plain", "html", "console"]).default("auto"),
    }),
    output: Bytes,
    errors: ["NotFoundError", "ValueError"],
  },
  cancel: {
    name: "api_cancel",
    route: "POST /api/cancel",
    mode: "async",
    summary: "Cancel requests.",
    access: "user",
    input: body("RequestCancelBody", {
      request_ids: optional(listOf(text)).describe("Ids or prefixes; null is all."),
      user_id: optional(text).describe("With request_ids null: only those of this user."),
    }),
    output: z.array(z.string()).describe("Ids that were cancelled."),
    errors: ["ValueError"],
  },
  status: {
    route: "GET /api/status",
    summary: "List requests, newest first.",
    access: "viewer",
    input: query({
      request_ids: optional(queryList).describe("Ids or prefixes; the rest is ignored then."),
      all_status: queryBoolean(false).describe("Include requests that have ended."),
      limit: optional(queryInteger(0, caps.entries)).describe(
        `At most n; null is ${caps.entries}.`,
      ),
      after: optional(text).describe("Id of the last one of the page before; those older follow."),
      fields: optional(queryList).describe(
        "Fields to fill; the id always is, the others hold null or nothing.",
      ),
      cluster_name: optional(text).describe("Only those for this cluster."),
    }),
    output: z.array(RequestPayload),
    errors: ["NotFoundError", "ValueError"],
  },
  health: {
    route: "GET /api/health",
    summary: "State of control, and who the caller is.",
    access: "open",
    output: HealthRecord,
  },
  plugins: {
    route: "GET /api/plugins",
    summary: "Parts that were added to control.",
    access: "viewer",
    output: z.object({ plugins: z.array(PluginInfo) }),
  },
  completeClusterName: {
    name: "api.completion.cluster_name",
    route: "GET /api/completion/cluster_name",
    summary: "Names of clusters with this prefix, for shell completion.",
    access: "viewer",
    input: completion,
    output: z.array(z.string()),
  },
  completeStorageName: {
    name: "api.completion.storage_name",
    route: "GET /api/completion/storage_name",
    summary: "Names of storages with this prefix, for shell completion.",
    access: "viewer",
    input: completion,
    output: z.array(z.string()),
  },
  completeVolumeName: {
    name: "api.completion.volume_name",
    route: "GET /api/completion/volume_name",
    summary: "Names of volumes with this prefix, for shell completion.",
    access: "viewer",
    input: completion,
    output: z.array(z.string()),
  },
  completeRequestId: {
    name: "api.completion.api_request",
    route: "GET /api/completion/api_request",
    summary: "Ids of requests with this prefix, for shell completion.",
    access: "viewer",
    input: completion,
    output: z.array(z.string()),
  },
});
