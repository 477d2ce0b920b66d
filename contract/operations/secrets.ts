import * as z from "zod";
import { operationsOf } from "../../common/operation.ts";
import { longText, text } from "../caps.ts";
import { Seconds } from "../records/clusters.ts";
import { record } from "../records/record.ts";
import { secretName } from "../task/variables.ts";
import { body, Nothing } from "./fields.ts";

/** Whose a stored secret is. */
export const secretScopes = ["user", "workspace"] as const;

const Scope = z.enum(secretScopes);
const which = {
  name: text.regex(secretName, "must be a valid name of a shell variable: letters, digits and _"),
  scope: Scope.default("user").describe(
    "Whose it is: `user`, for the caller's tasks alone, or `workspace`, for all tasks in the workspace.",
  ),
};

/** A stored secret; nothing tells its value. */
export const SecretRecord = record("SecretRecord", {
  name: z.string(),
  scope: Scope,
  workspace: z.string().nullable().describe("Null for a secret of the caller."),
  updated_at: Seconds,
  updated_by: z.string(),
});
export type SecretRecord = z.output<typeof SecretRecord>;

/** Secrets that tasks name instead of carrying them. */
export const secretOperations = operationsOf("secrets.", {
  list: {
    route: "GET /secrets",
    summary: "List stored secrets, without their values.",
    access: "user",
    audited: false,
    output: z.array(SecretRecord),
  },
  set: {
    route: "POST /secrets/set",
    summary: "Store a secret, or replace one of that name. Its value cannot be read back.",
    access: "user",
    input: body("SecretSetBody", { ...which, value: longText.min(1) }),
    output: Nothing,
  },
  delete: {
    route: "POST /secrets/delete",
    summary: "Delete a stored secret. Tasks that were launched with it keep it.",
    access: "user",
    input: body("SecretDeleteBody", which),
    output: Nothing,
    errors: ["NotFoundError"],
  },
});
