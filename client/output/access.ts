import * as z from "zod";
import type { OutputOf } from "../../common/operation.ts";
import type { tokenOperations } from "../../contract/operations/tokens.ts";
import type { UserRecord } from "../../contract/records/users.ts";
import { form, instant, instantOf } from "./shapes.ts";

const when = instant.nullable();

/** A user, as `users list` prints it. */
export const userForm = form(
  z.strictObject({
    id: z.string(),
    name: z.string(),
    role: z.string(),
    login: z.string().describe("basic: with a password; sso: elsewhere."),
    has_password: z.boolean(),
    created_at: when,
  }),
  (row: UserRecord) => ({
    id: row.id,
    name: row.name ?? row.id,
    role: row.role,
    login: row.user_type,
    has_password: row.has_password ?? false,
    created_at: instantOf(row.created_at),
  }),
);

/** How an import went, as `users import` prints it. */
export const importForm = form(
  z.strictObject({
    imported: z.int().describe("Users that were created, or were there already; 0 after an error."),
    errors: z.array(z.string()).describe("What is wrong with which line."),
  }),
  (row: { imported: number; errors: string[] }) => row,
);

export type TokenRecord = OutputOf<(typeof tokenOperations)["list"]>[number];

/** A token, as `tokens list` prints it. */
export const tokenForm = form(
  z.strictObject({
    id: z.string(),
    name: z.string(),
    role: z.string(),
    service_account_id: z.string(),
    creator: z.string(),
    created_at: when.describe("Or rotated."),
    expires_at: when.describe("Null is never."),
    last_used_at: when,
  }),
  (row: TokenRecord) => ({
    id: row.token_id,
    name: row.token_name,
    role: row.service_account_roles[0] ?? "",
    service_account_id: row.service_account_user_id,
    creator: row.creator_name,
    created_at: instantOf(row.created_at),
    expires_at: instantOf(row.expires_at),
    last_used_at: instantOf(row.last_used_at),
  }),
);

/** A new secret, as `tokens create` prints it. */
export const newTokenForm = form(
  z.strictObject({
    id: z.string(),
    name: z.string(),
    token: z.string().describe("The secret; it is not shown again."),
    service_account_id: z.string(),
    expires_at: when.describe("Null is never."),
  }),
  (row: OutputOf<(typeof tokenOperations)["create"]>) => ({
    id: row.token_id,
    name: row.token_name,
    token: row.token,
    service_account_id: row.service_account_user_id,
    expires_at: instantOf(row.expires_at),
  }),
);

/** The role of a service account, as `tokens role` prints it. */
export const roleForm = form(
  z.strictObject({ name: z.string().describe("Of the token."), role: z.string() }),
  (row: { name: string; role: string }) => row,
);

/** Who calls, as `whoami` prints it. */
export const identityForm = form(
  z.strictObject({
    id: z.string(),
    name: z.string(),
    role: z.string(),
    context: z.string(),
    endpoint: z.string(),
  }),
  (row: { id: string; name: string; role: string; context: string; endpoint: string }) => row,
);
