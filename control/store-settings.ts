import * as z from "zod";

const Endpoint = z.url({ protocol: /^https?$/ });
const keys = (store: string) =>
  z
    .string()
    .optional()
    .describe(
      `File in the form of ~/.aws/credentials with the keys for ${store} of tasks that bring none. All users read with them, and make and fill storages. Without it, such tasks read only public buckets.`,
    );

const buckets = (store: string) =>
  z
    .string()
    .optional()
    .describe(
      `Names of the buckets, separated by commas, that control reads and makes with its own keys for ${store}. Without it, its users read every bucket that these keys can read.`,
    );

/** Settings of the stores whose buckets tasks read. */
export const storeSettings = {
  s3Endpoint: z
    .templateLiteral(["http", z.string()])
    .default("https://s3.{region}.amazonaws.com")
    .describe("Address of the store behind `s3://`, which nodes must be able to reach."),
  s3Region: z.string().default("us-east-1").describe("Its region, if the store does not name one."),
  s3KeysFile: keys("`s3://`"),
  s3Buckets: buckets("`s3://`"),
  gcsEndpoint: Endpoint.default("https://storage.googleapis.com").describe(
    "Address of the store behind `gs://`, called by its S3 form.",
  ),
  gcsKeysFile: keys("`gs://` (HMAC keys)"),
  gcsBuckets: buckets("`gs://`"),
  hfEndpoint: Endpoint.default("https://huggingface.co").describe(
    "Address of the hub behind `hf://`: Hugging Face, or a mirror of it.",
  ),
};
