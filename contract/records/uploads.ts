import * as z from "zod";

/** How far an upload is. */
export const UploadZipFileResponse = z
  .object({
    status: z.enum(["uploading", "completed"]),
    missing_chunks: z
      .array(z.string())
      .nullable()
      .default(null)
      .describe("part0, part1, … that are not there yet."),
  })
  .meta({ id: "UploadZipFileResponse" });
export type UploadZipFileResponse = z.output<typeof UploadZipFileResponse>;
