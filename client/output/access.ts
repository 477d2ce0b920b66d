import * as z from "zod";
import type { OutputOf } from "../../common/operation.ts";
import type { tokenOperations } from "../../contract/operations/tokens.ts";
import type { UserRecord } from "../../contract/records/users.ts";
import { form, formOf, type Ways } from "./shapes.ts";

/** A user, as `users list` prints it. */
export const userForm = formOf(({ of, when }: Ways<UserRecord>) => ({
  id: z.string(),
  name: of(z.string(), (row) => row.name ?? row.id),
  role: z.string(),
  login: of(z.string().describe("basic: with a password; sso: elsewhere."), (row) => row.user_type),
  has_password: of(z.boolean(), (row) => row.has_password ?? false),
  created_at: when((row) => row.created_at),
}));

/** How an import went, as `users import` prints it. */
export const importForm = form(
  z.strictObject({
    imported: z.int().describe("Users that were created, or were there already; 0 after an error."),
    errors: z.array(z.string()).describe("What is wrong with which line."),
  }),
);

export type TokenRecord = OutputOf<(typeof tokenOperations)["list"]>[number];

/** A token, as `tokens list` prints it. */
export const tokenForm = formOf(({ of, when }: Ways<TokenRecord>) => ({
  id: of(z.string(), (row) => row.token_id),
  name: of(z.string(), (row) => row.token_name),
  role: of(z.string(), (row) => row.service_account_roles[0] ?? ""),
  service_account_id: of(z.string(), (row) => row.service_account_user_id),
  creator: of(z.string(), (row) => row.creator_name),
  created_at: when((row) => row.created_at, "Or rotated."),
  expires_at: when((row) => row.expires_at, "Null is never."),
  last_used_at: when((row) => row.last_used_at),
}));

/** A new secret, as `tokens create` prints it. */
export const newTokenForm = formOf(
  ({ of, when }: Ways<OutputOf<(typeof tokenOperations)["create"]>>) => ({
    id: of(z.string(), (row) => row.token_id),
    name: of(z.string(), (row) => row.token_name),
    token: z.string().describe("The secret; it is not shown again."),
    service_account_id: of(z.string(), (row) => row.service_account_user_id),
    expires_at: when((row) => row.expires_at, "Null is never."),
  }),
);

/** The role of a service account, as `tokens role` prints it. */
export const roleForm = form(
  z.strictObject({ name: z.string().describe("Of the token."), role: z.string() }),
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
);
