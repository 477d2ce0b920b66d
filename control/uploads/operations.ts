import { Readable } from "node:stream";
import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { uploadOperations as rows } from "../../contract/operations/uploads.ts";
import { type Bound, bind, type Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { isUserId } from "../requests/schema.ts";

/** The upload operations and their code. */
export const uploadOperations: Bound[] = [
  bind(rows.upload, (ctx, input, call) => take(ctx, null, input, call)),
  bind(rows.hasBlob, async (ctx, { user_hash, blob_id }) => ({
    exists: await ctx.uploads.hasBlob(ownerOf(user_hash), blob_id),
  })),
  bind(rows.uploadBlob, (ctx, input, call) => take(ctx, blobIdOf(input), input, call)),
];

type Chunked = InputOf<typeof rows.upload>;

const take = (ctx: Context, blobId: string | null, input: Chunked, { body }: Call) =>
  ctx.uploads.take(
    ownerOf(input.user_hash),
    blobId,
    { uploadId: input.upload_id, index: input.chunk_index, total: input.total_chunks },
    body?.stream ?? Readable.from([]),
  );

/** An id with the time of the run names no blob. */
const blobIdOf = ({ upload_id: id }: Chunked): string | null =>
  /^[0-9a-f]{64}$/.test(id) ? id : null;

/** Without a login layer the owner is whom the caller names. */
const ownerOf = (userHash: string): string =>
  isUserId(userHash)
    ? userHash
    : fail("ValueError", "user_hash takes letters, digits and . _ @ + -");
