import * as z from "zod";
import { operationsOf } from "../../common/operation.ts";
import { caps, text } from "../caps.ts";
import { EventRecord, eventNouns } from "../records/events.ts";
import { optional, query, queryBoolean, queryInteger } from "./fields.ts";

const eventId = queryInteger(0, caps.eventId);

/** What happens to clusters, services and replicas, as one stream. */
export const eventOperations = operationsOf("", {
  stream: {
    name: "events",
    route: "GET /events",
    mode: "events",
    summary: "Stream what happens to clusters, services and replicas.",
    access: "viewer",
    input: {
      ...query({
        since: optional(eventId).describe(
          "Id of the last event that you have, 0 for all; null is from now on.",
        ),
        tail: queryInteger(0, caps.entries)
          .default(0)
          .describe("Without `since`: begin with the newest n that fit."),
        noun: optional(z.enum(eventNouns)).describe("Only events of this kind of thing."),
        name: optional(text).describe(
          "Only those of the cluster of this name, or the service and its replicas.",
        ),
        noteworthy: queryBoolean(false).describe("Only status changes and important remarks."),
        follow: queryBoolean(true).describe("Keep streaming; else end after the newest event."),
      }),
      header: z.object({
        "last-event-id": z
          .string()
          .max(15)
          .regex(/^[0-9]{1,15}$/, "expected the id of an event, a number of up to 15 digits")
          .optional()
          .describe("As `since`, before which it goes."),
      }),
    },
    output: EventRecord,
    errors: ["ValueError", "ResourcesUnavailableError"],
  },
});
