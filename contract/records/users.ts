import * as z from "zod";
import { Seconds } from "./clusters.ts";
import { record } from "./record.ts";

const UserType = z.enum(["system", "basic", "sa", "sso", "legacy"]);
/** How a user came to be: `basic` has a password, `sso` comes from an identity provider, `sa` is a service account. */
export type UserKind = z.output<typeof UserType>;

/** The caller, as the health answer shows it. */
export const UserFull = record("UserFull", {
  id: z.string(),
  name: z.string().nullable(),
  created_at: Seconds.nullish(),
  user_type: UserType.nullish(),
  preferred_workspace: z.string().nullish(),
});

/** A user; service accounts are left out of lists of users. */
export const UserRecord = record("UserRecord", {
  id: z.string(),
  name: z.string().nullable(),
  created_at: Seconds.nullable(),
  role: z.string().describe("admin, user, viewer, or empty."),
  user_type: UserType,
  has_password: z.boolean().optional().describe("Whether the user can log in with a password."),
});
export type UserRecord = z.output<typeof UserRecord>;

/** Where the caller's launches go, and which workspaces the caller may use. */
export const UserWorkspace = record("UserWorkspace", {
  workspace: z.string().nullable().describe("Null where none can be chosen; `note` says why."),
  source: z
    .enum([
      ...(["explicit", "preferred", "default-fallback", "single-membership"] as const),
      ...(["read-only", "ambiguous", "no-access", "permission-denied"] as const),
    ])
    .nullable()
    .describe("Why it is this one, or none."),
  note: z.string().nullable(),
  preferred: z.string().nullable(),
  accessible: z.array(z.string()).describe("Those that take launches of the caller."),
  read_only: z.array(z.string()),
});
export type UserWorkspace = z.output<typeof UserWorkspace>;

/** Who the caller is; where nobody logs in, this machine's own user as an admin. */
export const CurrentRole = z
  .object({ id: z.string(), name: z.string(), role: z.string() })
  .meta({ id: "CurrentRole" });

/** How an import of users went. */
export const UserImportResult = record("UserImportResult", {
  success_count: z.int(),
  error_count: z.int(),
  total_processed: z.int(),
  parse_errors: z.array(z.string()).describe("One a bad line."),
  creation_errors: z.array(z.string()).describe("One a user who was not made."),
});
export type UserImportResult = z.output<typeof UserImportResult>;

/** All users as CSV. */
export const UserExportResult = record("UserExportResult", {
  csv_content: z
    .string()
    .describe("Header username,password,role, then a line a user. The password is always empty."),
  user_count: z.int(),
});

/** A token of a service account, without its secret. */
export const ServiceAccountTokenRecord = record("ServiceAccountTokenRecord", {
  token_id: z.string(),
  token_name: z.string(),
  created_at: Seconds,
  last_used_at: Seconds.nullable(),
  expires_at: Seconds.nullable().describe("Unix seconds; null is endless."),
  creator_user_hash: z.string(),
  service_account_user_id: z.string(),
  creator_name: z.string(),
  service_account_name: z.string(),
  service_account_roles: z.array(z.string()),
});

/** A new token; the only time its secret is shown. */
export const ServiceAccountTokenSecret = record("ServiceAccountTokenSecret", {
  token_id: z.string(),
  token_name: z.string(),
  token: z.string(),
  expires_at: Seconds.nullable(),
  service_account_user_id: z.string(),
  creator_user_id: z.string().optional().describe("Only when it was created."),
  message: z.string(),
});

/** The roles of a service account. */
export const ServiceAccountRole = record("ServiceAccountRole", {
  token_id: z.string(),
  service_account_user_id: z.string(),
  roles: z.array(z.string()),
});

/** The role that a service account has now. */
export const ServiceAccountRoleChanged = record("ServiceAccountRoleChanged", {
  message: z.string(),
  token_id: z.string(),
  service_account_user_id: z.string(),
  new_role: z.string(),
});
