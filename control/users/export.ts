import { toCsv } from "./csv.ts";
import type { Account } from "./schema.ts";

export const csvColumns = ["username", "password", "role"] as const;

/** Users as a table that can be imported; nobody's password is in it, nor what it could be told from. */
export const exportUsers = (users: readonly Account[]) => ({
  csv_content: toCsv([csvColumns, ...users.map(({ name, role }) => [name, "", role])]),
  user_count: users.length,
});
