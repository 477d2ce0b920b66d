import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { openUploads } from "../../../control/uploads/uploads.ts";

/** Takes an archive of two chunks below a folder, and writes what each of them is answered. */
const [root = "", archive = "", blobId = ""] = process.argv.slice(2);
const bytes = readFileSync(archive);
const uploads = openUploads(root, () => new Date());
const half = Math.ceil(bytes.length / 2);

for (const index of [0, 1]) {
  const chunk = { uploadId: blobId, index, total: 2 };
  const body = Readable.from([bytes.subarray(index * half, (index + 1) * half)]);
  const { status } = await uploads.take("u1", blobId, chunk, body);
  process.stdout.write(`${status}\n`);
}
