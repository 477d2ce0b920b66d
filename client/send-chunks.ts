import { open, stat } from "node:fs/promises";
import { fail } from "../common/errors.ts";
import { uploadOperations } from "../contract/operations/uploads.ts";
import type { Client } from "./sdk.ts";

const usualChunkBytes = 16 * 1024 * 1024;

interface Sent {
  readonly archive: string;
  readonly blobId: string;
  readonly chunkBytes?: number;
}

/** Sends what control does not have of an archive: the answer to each chunk names those that are missing. */
export async function sendChunks(
  client: Pick<Client, "uploadBytes">,
  { archive, blobId, chunkBytes = usualChunkBytes }: Sent,
  tell: (part: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const { size } = await stat(archive);
  const total = Math.ceil(size / chunkBytes);
  const file = await open(archive);
  try {
    let index = 0;
    for (let sent = 0; sent <= total; sent += 1) {
      signal.throwIfAborted();
      const content = Buffer.alloc(Math.min(chunkBytes, size - index * chunkBytes));
      await file.read(content, 0, content.length, index * chunkBytes);
      const place = { chunk_index: index, total_chunks: total };
      const chunk = { user_hash: "self", upload_id: blobId, ...place };
      const answer = await client.uploadBytes(uploadOperations.uploadBlob, chunk, content);
      if (answer.status === "completed") return;
      const missing = answer.missing_chunks ?? [];
      index = Number(missing[0]?.slice("part".length) ?? 0);
      tell(1 - missing.length / total);
    }
  } finally {
    await file.close();
  }
  fail("RuntimeError", "the control plane lost part of the files; run the command again");
}
