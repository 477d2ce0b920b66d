import { fail } from "../../common/errors.ts";
import { among } from "../db/lists.ts";
import type { Connection } from "../db/open.ts";
import { deleteSecretsOf } from "../secrets/store.ts";
import { listAccountsOf } from "../tokens/store.ts";
import { listBelongings } from "./belongings.ts";
import type { Account } from "./schema.ts";

/**
 * Deletes a user with all that lets the user in: sessions, and the service accounts and tokens that the
 * user made; and with the user's secrets. Throws `ValueError` naming what one of them still owns.
 */
export async function removeUser(
  tx: Connection,
  { id }: Pick<Account, "id">,
  name: string,
): Promise<void> {
  const ids = [id, ...(await listAccountsOf(tx, id))];
  const belongings = await listBelongings(tx, ids);
  if (belongings.length > 0)
    fail(
      "ValueError",
      `${name} still owns ${belongings.join(", ")}; end these first, then delete ${name}`,
    );
  await tx.deleteFrom("tokens").where("user_id", "in", among(ids)).execute();
  await tx.deleteFrom("sessions").where("user_id", "in", among(ids)).execute();
  await deleteSecretsOf(tx, "user", ids);
  await tx.deleteFrom("approvals").where("user_id", "in", among(ids)).execute();
  await tx.deleteFrom("users").where("id", "in", among(ids)).execute();
}
