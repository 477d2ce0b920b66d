import * as z from "zod";
import { type SecretRecord, secretScopes } from "../../contract/operations/secrets.ts";
import { form, instant, instantOf } from "./shapes.ts";

/** A stored secret, as `secrets list` prints it. */
export const secretForm = form(
  z.strictObject({
    name: z.string(),
    scope: z.enum(secretScopes),
    workspace: z.string().nullable(),
    updated_at: instant.nullable(),
    updated_by: z.string(),
  }),
  ({ updated_at, ...row }: SecretRecord) => ({ ...row, updated_at: instantOf(updated_at) }),
);
