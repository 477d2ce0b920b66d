import { toCsv } from "./csv.ts";
import type { Account } from "./schema.ts";

export const csvColumns = ["username", "password", "role"] as const;

/** Returns all users as CSV that `import` accepts, without passwords or hashes of them. */
export const exportUsers = (users: readonly Account[]) => ({
  csv_content: toCsv([csvColumns, ...users.map(({ name, role }) => [name, "", role])]),
  user_count: users.length,
});
