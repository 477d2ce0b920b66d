import * as z from "zod";
import { type ErrorType, errorTypes } from "../../common/errors.ts";

const codes = [...(Object.keys(errorTypes) as ErrorType[]), "Declined"] as const;

/** What a command that failed writes as the last line of stderr where it was asked for JSON. */
export const ErrorOutput = z.strictObject({
  error: z.strictObject({
    code: z.enum(codes).describe("Type of the error, as in the API; Declined: answered with no."),
    message: z.string(),
    hint: z.string().nullable().describe("What to do."),
    request_id: z.string().nullable().describe("Of the request on the control plane that failed."),
    exit_code: z.int(),
    retryable: z.boolean().describe("The same command may succeed later."),
  }),
});
export type ErrorOutput = z.output<typeof ErrorOutput>;
