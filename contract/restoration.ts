import * as z from "zod";

/** What the control program prints once it has restored its database. */
export const Restoration = z.strictObject({
  database: z.string(),
  copy: z.string().describe("Name of the copy that it was restored from."),
  copied_at: z.iso.datetime().describe("Changes since then are lost."),
  previous_database: z.string().nullable().describe("Where the database is that was there."),
});
export type Restoration = z.output<typeof Restoration>;
