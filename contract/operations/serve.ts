import * as z from "zod";
import { requestsOf } from "../../common/operation.ts";
import { filePath, integer, listOf, serviceText, text } from "../caps.ts";
import { ServiceComponent, ServiceStatusRecord, UpdateMode } from "../records/services.ts";
import { body, flag, logInstants, Nothing, nullable, optional, taskErrors } from "./fields.ts";

const serviceName = text.describe("Service.");
const serviceNames = nullable(z.union([text, listOf(text)]));
const tail = optional(integer).describe("Last n lines; null is everything.");

/** Services: an endpoint that is kept alive, a cluster behind each replica. */
export const serveOperations = requestsOf("serve.", {
  up: {
    route: "POST /serve/up",
    queue: "long",
    summary: "Bring a service up.",
    access: "user",
    about: { newService: "service_name" },
    input: body("ServeUpBody", {
      task: serviceText.describe("One task with a service section as YAML text."),
      service_name: text.describe("Named like a cluster."),
    }),
    output: z.tuple([z.string(), z.string()]).describe("Name and address."),
    errors: [...taskErrors, "ConflictError"],
  },
  update: {
    route: "POST /serve/update",
    summary: "Move a service to a new version.",
    access: "user",
    about: { service: "service_name" },
    input: body("ServeUpdateBody", {
      task: serviceText.describe("The new task as YAML text."),
      service_name: serviceName,
      mode: UpdateMode,
    }),
    output: Nothing,
    errors: [...taskErrors, "NotFoundError", "ConflictError"],
  },
  down: {
    route: "POST /serve/down",
    summary: "Take services down.",
    access: "user",
    input: body("ServeDownBody", {
      service_names: serviceNames.describe("Names or patterns; exactly one of this and all."),
      all: flag.describe("Every service."),
      purge: flag.describe("Also services that failed."),
    }),
    output: Nothing,
    errors: ["ValueError", "RuntimeError", "ClusterNotUpError"],
  },
  terminateReplica: {
    route: "POST /serve/terminate-replica",
    summary: "End one replica; scaling may bring up a new one.",
    access: "user",
    about: { service: "service_name" },
    input: body("ServeTerminateReplicaBody", {
      service_name: serviceName,
      replica_id: integer,
      purge: flag.describe("Also when the replica failed."),
    }),
    output: Nothing,
    errors: ["NotFoundError", "ConflictError", "ClusterNotUpError"],
  },
  status: {
    route: "POST /serve/status",
    reads: true,
    summary: "Services and their replicas.",
    access: "viewer",
    input: body("ServeStatusBody", { service_names: serviceNames.describe("Null is all.") }),
    output: z.array(ServiceStatusRecord),
    errors: ["ClusterNotUpError"],
  },
  logs: {
    route: "POST /serve/logs",
    mode: "log",
    resultNeedsFollow: true,
    summary: "Stream the log of a part of a service.",
    access: "viewer",
    about: { service: "service_name" },
    input: body("ServeLogsBody", {
      service_name: serviceName,
      target: ServiceComponent,
      replica_id: optional(integer).describe("Needed for replica, refused otherwise."),
      follow: z.boolean().default(true).describe("Keep streaming."),
      tail,
      ...logInstants,
    }),
    output: Nothing,
    errors: ["ValueError", "NotFoundError", "ClusterNotUpError"],
  },
  downloadLogs: {
    name: "serve.sync_down_logs",
    route: "POST /serve/sync-down-logs",
    summary: "Copy logs of a service to control, ready for /download.",
    access: "viewer",
    about: { service: "service_name" },
    input: body("ServeDownloadLogsBody", {
      service_name: serviceName,
      local_dir: filePath.describe("Ignored."),
      targets: nullable(z.union([ServiceComponent, listOf(ServiceComponent)])).describe(
        "Null or empty is all.",
      ),
      replica_ids: optional(listOf(integer)).describe("Null or empty: all that exist."),
      tail,
    }),
    output: z.string().describe("Folder on control."),
    errors: ["ValueError", "NotFoundError", "ClusterNotUpError"],
  },
});
