import * as z from "zod";
import { ErrorOutput } from "./error.ts";
import { form } from "./shapes.ts";

const Action = z.strictObject({
  action: z.string().describe("The command: launch."),
  name: z
    .string()
    .nullable()
    .describe(
      "Of the cluster, service, pool, context, unit, user or token; null for all, or for none.",
    ),
  request_id: z
    .string()
    .nullable()
    .describe("Null if there is no request: it was refused or done immediately."),
  outcome: z
    .enum(["done", "unchanged", "failed", "submitted", "planned"])
    .describe(
      "unchanged: there was nothing to do; submitted: the command did not wait, because of --async; planned: nothing was done, because of --dry-run.",
    ),
  job_id: z.int().nullable().describe("The job that a launch or exec submitted."),
  endpoint: z
    .string()
    .nullable()
    .describe("Address of the service or control plane that was started."),
  error: ErrorOutput.shape.error.nullable().describe("Of one that failed."),
});
export type Action = z.output<typeof Action>;

/** What a command did, one for each thing that it was asked to do it to. */
export const actionForm = form(Action);
