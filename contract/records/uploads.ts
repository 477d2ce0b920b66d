import * as z from "zod";
import { record } from "./record.ts";

/** How far an upload is. */
export const UploadZipFileResponse = record("UploadZipFileResponse", {
  status: z.enum(["uploading", "completed"]),
  missing_chunks: z
    .array(z.string())
    .nullable()
    .default(null)
    .describe("part0, part1, … that are not there yet."),
});
export type UploadZipFileResponse = z.output<typeof UploadZipFileResponse>;
