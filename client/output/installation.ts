import * as z from "zod";
import { form } from "./shapes.ts";

const Version = z.strictObject({
  version: z.string(),
  commit: z.string().nullable(),
  api_version: z.int(),
  min_api_version: z.int(),
  node: z.string(),
  platform: z.string(),
});

/** This installation, as `version` prints it. */
export const versionForm = form(Version);

const Found = z.strictObject({
  check: z.string(),
  status: z.enum(["ok", "warning", "missing"]),
  found: z.string(),
  hint: z.string().nullable().describe("What to do."),
});

/** What is here and what is missing, as `doctor` prints it. */
export const findingForm = form(Found);
