import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { TestContext } from "node:test";
import { openUploads } from "../../../control/uploads/uploads.ts";

/** Uploads in a folder of their own, and what the user `u1` has there. */
export function openShelf(t: TestContext, quotaBytes?: number) {
  const root = mkdtempSync(join(tmpdir(), "uploads-"));
  t.after(() => rmSync(root, { recursive: true }));
  let now = Date.now();
  const uploads = openUploads(root, () => new Date(now), quotaBytes);
  const under = (...parts: string[]) => join(root, "u1/files", ...parts);
  return {
    root,
    uploads,
    list: (name: string) => (existsSync(under(name)) ? readdirSync(under(name)) : []),
    under,
    pass: (ms: number) => {
      now += ms;
    },
    /** Sends bytes in chunks, in the order that is named. */
    async send(bytes: Buffer, blobId: string | null, { id = blobId ?? "v1", order = [0] } = {}) {
      const size = Math.ceil(bytes.length / order.length);
      const answers = order.map((index) => {
        const part = bytes.subarray(index * size, (index + 1) * size);
        const chunk = { uploadId: id, index, total: order.length };
        return () => uploads.take("u1", blobId, chunk, Readable.from([part]));
      });
      const told: Awaited<ReturnType<typeof uploads.take>>[] = [];
      for (const answer of answers) told.push(await answer());
      return told;
    },
    async paths(blobId: string | null) {
      return (await (await uploads.open("u1", blobId))?.entries())?.map(({ path }) => path);
    },
  };
}
