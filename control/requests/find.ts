import { fail } from "../../common/errors.ts";
import type { Context } from "../context.ts";
import type { StoredRequest } from "./schema.ts";
import * as store from "./store.ts";

/** The one request that an id or a prefix names; throws `NotFoundError` or `ValueError`. */
export async function resolveId(ctx: Context, prefix: string): Promise<string> {
  const reads = ctx.reads.list().filter(({ id }) => id.startsWith(prefix));
  const ids = [...reads.map(({ id }) => id), ...(await store.findIds(ctx.db, prefix, 2))];
  const exact = ids.find((id) => id === prefix);
  if (exact !== undefined) return exact;
  const [id] = ids;
  if (prefix === "" || id === undefined) return notFound(prefix);
  if (ids.length > 1)
    fail("ValueError", `several requests begin with ${prefix}; give more of the id`);
  return id;
}

/** The request with this id, wherever it is kept. */
export const findRequest = async (ctx: Context, id: string): Promise<StoredRequest | undefined> =>
  ctx.reads.find(id) ?? store.findRequest(ctx.db, id);

/** The request with this id; throws `NotFoundError`. */
export async function getRequest(ctx: Context, id: string): Promise<StoredRequest> {
  return (await findRequest(ctx, id)) ?? notFound(id);
}

const notFound = (id: string): never =>
  fail(
    "NotFoundError",
    `there is no request ${id}; ended ones are forgotten after a day, and those that only read ` +
      "after minutes or with a restart of control",
  );
