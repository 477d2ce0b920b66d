import * as z from "zod";
import { form, instant, text } from "./shapes.ts";

const Line = z.strictObject({
  cluster: text,
  job_id: z.int().nullable().describe("Null for the latest job without --follow, and for no job."),
  service: text,
  replica: z.int().nullable(),
  request_id: text,
  at: instant
    .nullable()
    .describe("When it began, to the second; null where no agent or control plane recorded it."),
  line: z.string().describe("Without its end and without colours."),
});
export type LogLine = z.output<typeof Line>;

/** A line of a log, as `logs` prints it; of a cluster, a service, or a request. */
export const logLineForm = form(Line);
