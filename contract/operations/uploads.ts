import * as z from "zod";
import { operationsOf } from "../../common/operation.ts";
import { product, protocol } from "../../common/product.ts";
import { BlobId } from "../blob-id.ts";
import { text } from "../caps.ts";
import { UploadZipFileResponse } from "../records/uploads.ts";
import { optional, query, queryInteger } from "./fields.ts";

const userHash = text.describe("Owner of the files; a login takes precedence.");
const runName = `(${product.word}|${protocol.requestPrefix})-\\d{4}(-\\d\\d){5}-\\d{6}-[0-9a-f]{8}`;
const blobId = "[0-9a-f]{64}";
const chunkOf = (uploadId: z.ZodString) => ({
  ...query({
    user_hash: userHash,
    upload_id: uploadId,
    chunk_index: queryInteger(0).describe("From 0."),
    total_chunks: queryInteger(1),
  }),
  rawBody: "application/octet-stream",
});

/** Files that tasks bring along, as zip in chunks. */
export const uploadOperations = operationsOf("", {
  upload: {
    route: "POST /upload",
    summary: "Upload a chunk of a zip; unpacked for its owner once all are there.",
    access: "user",
    // A part of a launch, which is.
    audited: false,
    input: chunkOf(
      text.regex(new RegExp(`^${runName}$`)).describe("Time of the run, then 8 hex digits."),
    ),
    output: UploadZipFileResponse,
    errors: ["ValueError"],
  },
  hasBlob: {
    name: "upload_v2.blob",
    route: "GET /upload_v2/blob",
    summary: "Whether control has a blob; asking extends how long it is kept.",
    access: "viewer",
    input: query({
      user_hash: userHash,
      blob_id: BlobId.describe("64 hex digits."),
      size_bytes: optional(queryInteger()).describe("Size of the zip; accepted and ignored."),
    }),
    output: z.object({ exists: z.boolean() }),
    errors: ["ValueError"],
  },
  uploadBlob: {
    name: "upload_v2",
    route: "POST /upload_v2",
    summary: "Upload a chunk of a blob, unpacked once and shared by every request that names it.",
    access: "user",
    // A part of a launch, which is.
    audited: false,
    input: chunkOf(
      text
        .regex(new RegExp(`^(${blobId}|${runName})$`))
        .describe("64 hex digits of its content, or as for /upload."),
    ),
    output: UploadZipFileResponse,
    errors: ["ValueError"],
  },
});
