import * as z from "zod";
import { operationsOf } from "../../common/operation.ts";
import { integer, text } from "../caps.ts";
import {
  ServiceAccountRole,
  ServiceAccountRoleChanged,
  ServiceAccountTokenRecord,
  ServiceAccountTokenSecret,
} from "../records/users.ts";
import { body, optional } from "./fields.ts";

const token = { token_id: text };

/** Service accounts and their tokens. */
export const tokenOperations = operationsOf("tokens.", {
  list: {
    route: "GET /users/service-account-tokens",
    summary: "List the tokens of all users.",
    access: "viewer",
    output: z.array(ServiceAccountTokenRecord),
    errors: ["AuthenticationError"],
  },
  create: {
    route: "POST /users/service-account-tokens",
    summary: "Create a service account and its token; the secret is shown once.",
    access: "user",
    about: { givenRole: "role" },
    input: body("ServiceAccountTokenCreateBody", {
      token_name: text.describe("Begins with a letter."),
      role: optional(text).describe(
        "Role of the service account; null is the usual one, or the caller's if that is lower.",
      ),
      expires_in_days: optional(integer).describe("Null or 0 is endless."),
    }),
    output: ServiceAccountTokenSecret,
    errors: ["AuthenticationError", "PermissionDeniedError", "ValueError"],
  },
  delete: {
    route: "POST /users/service-account-tokens/delete",
    summary: "Delete a token and its service account.",
    access: "user",
    about: { token: "token_id" },
    input: body("ServiceAccountTokenDeleteBody", token),
    output: z.object({ message: z.string() }),
    errors: ["AuthenticationError", "NotFoundError", "PermissionDeniedError", "ValueError"],
  },
  getRole: {
    route: "POST /users/service-account-tokens/get-role",
    summary: "The roles of a service account.",
    access: "viewer",
    about: { token: "token_id" },
    input: body("ServiceAccountTokenRoleBody", token),
    output: ServiceAccountRole,
    errors: ["AuthenticationError", "NotFoundError", "PermissionDeniedError"],
  },
  updateRole: {
    route: "POST /users/service-account-tokens/update-role",
    summary: "Set the role of a service account.",
    access: "user",
    about: { token: "token_id", givenRole: "role" },
    input: body("ServiceAccountTokenUpdateRoleBody", {
      ...token,
      role: text.describe("admin, user or viewer."),
    }),
    output: ServiceAccountRoleChanged,
    errors: ["AuthenticationError", "NotFoundError", "PermissionDeniedError", "ValueError"],
  },
  rotate: {
    route: "POST /users/service-account-tokens/rotate",
    summary: "Give a service account a new secret; identity and roles stay.",
    access: "user",
    about: { token: "token_id" },
    input: body("ServiceAccountTokenRotateBody", {
      ...token,
      expires_in_days: optional(integer).describe(
        "0 is endless; null keeps the time that is left, or is 30 once that is over.",
      ),
    }),
    output: ServiceAccountTokenSecret,
    errors: ["AuthenticationError", "NotFoundError", "PermissionDeniedError", "ValueError"],
  },
});
