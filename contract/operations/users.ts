import * as z from "zod";
import { operationsOf } from "../../common/operation.ts";
import { document, text } from "../caps.ts";
import {
  CurrentRole,
  UserExportResult,
  UserImportResult,
  UserRecord,
  UserWorkspace,
} from "../records/users.ts";
import { body, Nothing, optional, query } from "./fields.ts";

/** Users and their roles. */
export const userOperations = operationsOf("users.", {
  list: {
    route: "GET /users",
    summary: "List users.",
    access: "viewer",
    output: z.array(UserRecord),
  },
  role: {
    route: "GET /users/role",
    summary: "Who the caller is, and the role of the caller.",
    access: "viewer",
    output: CurrentRole,
  },
  workspace: {
    route: "GET /users/me/workspace",
    summary: "Workspace of the caller's launches that name none.",
    access: "viewer",
    input: query({ requested: optional(text).describe("As if a launch named this one.") }),
    output: UserWorkspace,
  },
  preferWorkspace: {
    route: "POST /users/me/workspace",
    summary: "Choose the workspace of the caller's launches that name none.",
    access: "viewer",
    audited: true,
    input: body("UserPreferredWorkspaceBody", {
      preferred: optional(text).describe("Null clears the choice."),
    }),
    output: z.object({ preferred: z.string().nullable() }),
    errors: ["PermissionDeniedError"],
  },
  create: {
    route: "POST /users/create",
    summary: "Create a user with a password.",
    access: "admin",
    input: body("UserCreateBody", {
      username: text.describe("Name to log in with."),
      password: text.describe("Only a hash of it is kept."),
      role: optional(text).describe("admin, user or viewer; null is the usual one."),
    }),
    output: Nothing,
    errors: ["ValueError"],
  },
  update: {
    route: "POST /users/update",
    summary: "Change the role or the password of a user.",
    access: "viewer",
    audited: true,
    about: { user: "user_id", changedRole: "role" },
    input: body("UserUpdateBody", {
      user_id: text,
      role: optional(text).describe("Null leaves it."),
      password: optional(text).describe("Null leaves it."),
    }),
    output: Nothing,
    errors: ["ValueError", "PermissionDeniedError"],
  },
  delete: {
    route: "POST /users/delete",
    summary: "Delete a user who owns nothing.",
    access: "admin",
    input: body("UserDeleteBody", { user_id: text }),
    output: Nothing,
    errors: ["ValueError"],
  },
  import: {
    route: "POST /users/import",
    summary: "Create users from CSV: all of them, or none where one line is wrong.",
    access: "admin",
    input: body("UserImportBody", {
      csv_content: document.describe("A header with username, password and role comes first."),
    }),
    output: UserImportResult,
    errors: ["ValueError"],
  },
  export: {
    route: "GET /users/export",
    summary: "All users as CSV, without passwords.",
    access: "admin",
    output: UserExportResult,
  },
});
