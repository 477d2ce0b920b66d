import * as z from "zod";
import { ErrorOutput } from "./error.ts";
import { form } from "./shapes.ts";

const Action = z.strictObject({
  action: z.string().describe("What was asked for, in a word: launch."),
  name: z
    .string()
    .nullable()
    .describe("Of the cluster, service, pool, context, user or token; null when it is of all."),
  request_id: z
    .string()
    .nullable()
    .describe("Null where there is no request: it was refused, or done, at once."),
  outcome: z
    .enum(["done", "unchanged", "failed", "submitted"])
    .describe("unchanged: it was so before; submitted: nobody waited for it, because of --async."),
  job_id: z.int().nullable().describe("The job that a launch or exec submitted."),
  endpoint: z.string().nullable().describe("Address of a service that was brought up."),
  error: ErrorOutput.shape.error.nullable().describe("Of one that failed."),
});
export type Action = z.output<typeof Action>;

/** What a command did, one for each thing that it was asked to do it to. */
export const actionForm = form(Action, (row: Action) => row);
