import * as z from "zod";
import { record } from "./record.ts";

const seconds = z.number().describe("Unix seconds.");

/** Why a thing is as it is. */
export const Explanation = record("Explanation", {
  noun: z.enum(["cluster", "service", "pool", "managed_job", "request"]),
  name: z.string(),
  id: z.string(),
  status: z.string(),
  wanted: z.string().nullable().describe("The target status."),
  because: z.string().nullable().describe("Who or what wants that."),
  since: seconds.describe("When it got its status."),
  doing: z
    .array(z.string())
    .describe("What is being done or waited for now, the most telling first; empty: nothing."),
  attempt: z
    .object({
      failures: z.int().describe("How many attempts failed one after another."),
      reason: z.string().describe("Why the last one failed."),
      failed_at: seconds,
      next_at: seconds,
    })
    .nullable()
    .describe("Null where the last attempt did not fail."),
});
export type Explanation = z.output<typeof Explanation>;
