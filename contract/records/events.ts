import * as z from "zod";
import { record } from "./record.ts";

/** The nouns whose events are logged. */
export const eventNouns = ["cluster", "service", "replica", "managed_job"] as const;

/** A row of the log of events. */
export const EventRecord = record("EventRecord", {
  id: z.int().describe("Later events have greater ids; give the last one as `since` to resume."),
  noun: z.enum(eventNouns),
  name: z
    .string()
    .nullable()
    .describe(
      "Of the cluster, service or managed job; a replica has its service's. Null once forgotten.",
    ),
  replica: z.int().nullable().describe("Number of the replica; null for other nouns."),
  job_id: z.int().nullable().describe("Number of the managed job; null for other nouns."),
  subject: z.string().describe("Its internal id, which no other one of the same name has."),
  from: z.string().nullable().describe("Status it left; null when the status did not change."),
  to: z.string().nullable().describe("Status it entered; null when the status did not change."),
  reason: z.string(),
  actor: z
    .string()
    .nullable()
    .describe("User on whose behalf it happened; null if control acts by itself."),
  noteworthy: z.boolean().describe("A status change or an important remark."),
  at: z.number().describe("Unix seconds."),
});
export type EventRecord = z.output<typeof EventRecord>;
