import { fail } from "../../common/errors.ts";
import { type Identity, ownerOf } from "../access/identity.ts";
import type { Context } from "../context.ts";
import type { EndedRequest, StoredRequest } from "./schema.ts";
import * as store from "./store.ts";

type Reader = Pick<Identity, "user" | "role">;

/**
 * The one request that an id or a prefix names, among those that the caller may read: its own, or all
 * for an administrator. Throws `NotFoundError` or `ValueError`.
 */
export async function resolveId(ctx: Context, prefix: string, reader: Reader): Promise<string> {
  const owner = ownerOf(reader);
  const isReadable = ({ user }: StoredRequest) => owner === undefined || user.id === owner;
  const whole = await findRequest(ctx, prefix);
  if (whole !== undefined && isReadable(whole)) return prefix;
  const reads = ctx.reads.list().filter((one) => one.id.startsWith(prefix) && isReadable(one));
  const stored = await store.findIds(ctx.db, prefix, 2, owner);
  const ids = [...reads.map(({ id }) => id), ...stored];
  const [id] = ids;
  if (prefix === "" || id === undefined) return notFound(prefix);
  if (ids.length > 1)
    fail("ValueError", `several requests begin with ${prefix}; use a longer prefix`);
  return id;
}

/** The request with this id, wherever it is kept. */
export const findRequest = async (ctx: Context, id: string): Promise<StoredRequest | undefined> =>
  ctx.reads.find(id) ?? store.findRequest(ctx.db, id);

/** How the request with this id ended; undefined while it has not. Throws `NotFoundError`. */
export async function findEnded(ctx: Context, id: string): Promise<EndedRequest | undefined> {
  if (ctx.reads.find(id)) return ctx.reads.findEnded(id);
  const ended = await store.findEnded(ctx.db, id);
  if (ended === undefined) await getRequest(ctx, id);
  return ended;
}

/** The request with this id; throws `NotFoundError`. */
export async function getRequest(ctx: Context, id: string): Promise<StoredRequest> {
  return (await findRequest(ctx, id)) ?? notFound(id);
}

const notFound = (id: string): never =>
  fail(
    "NotFoundError",
    `there is no request ${id}; finished requests are kept for a day, and those that only read ` +
      "for minutes or until control restarts",
  );
