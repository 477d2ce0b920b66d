import * as z from "zod";
import { form } from "./shapes.ts";

const Download = z.strictObject({
  path: z.string().describe("Where the file or folder is now."),
  files: z.int().describe("How many files and links there are, left-out ones not counted."),
  transferred: z.int().describe("How many files differed, and were copied."),
  transferred_bytes: z.int(),
  left_out: z
    .array(z.strictObject({ path: z.string(), reason: z.string() }))
    .describe("What could not be copied; the command then exits with 1."),
});

/** What `download` copied. */
export const downloadForm = form(Download);

const LogFile = z.strictObject({
  path: z.string(),
  cluster: z.string().nullable(),
  job_id: z.int().nullable(),
  service: z.string().nullable(),
  managed_job: z.int().nullable(),
});
export type LogFile = z.output<typeof LogFile>;

/** A log that was written to a file of its own. */
export const logFileForm = form(LogFile);

/** A log file, before it is said whose log it is. */
export const logFileOfNothing = { cluster: null, job_id: null, service: null, managed_job: null };
