import { Readable } from "node:stream";
import type { InputOf } from "../../common/operation.ts";
import { uploadOperations as rows } from "../../contract/operations/uploads.ts";
import { type Bound, bind, type Call } from "../bind.ts";
import type { Context } from "../context.ts";

/** The upload operations and their code. */
export const uploadOperations: Bound[] = [
  bind(rows.upload, (ctx, input, call) => take(ctx, null, input, call)),
  bind(rows.hasBlob, async (ctx, { blob_id }, { user }) => ({
    exists: await ctx.uploads.hasBlob(user.id, blob_id),
  })),
  bind(rows.uploadBlob, (ctx, input, call) => take(ctx, blobIdOf(input), input, call)),
];

type Chunked = InputOf<typeof rows.upload>;

const take = (ctx: Context, blobId: string | null, input: Chunked, { user, body }: Call) =>
  ctx.uploads.take(
    user.id,
    blobId,
    { uploadId: input.upload_id, index: input.chunk_index, total: input.total_chunks },
    body?.stream ?? Readable.from([]),
  );

/** An id with the time of the run names no blob. */
const blobIdOf = ({ upload_id: id }: Chunked): string | null =>
  /^[0-9a-f]{64}$/.test(id) ? id : null;
