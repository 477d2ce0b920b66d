import { fail } from "../../common/errors.ts";
import { workThrough } from "../../common/turns.ts";
import type { Answer } from "./ask.ts";
import type { Bucket } from "./bucket.ts";
import { type Part, streamOf } from "./parts.ts";
import { type AskS3, codeOf, refuseS3, type S3Address, type S3Question } from "./s3-asking.ts";
import { textIn } from "./xml.ts";

const partsAtOnce = 4;
const deletionsAtOnce = 16;
const denied = "refuses access; pass keys that may create and write it";

/** What makes, fills and deletes a bucket. Source: Amazon S3 API reference; GCS answers the same in its XML API. */
export function writing(
  { name, region }: S3Address,
  ask: AskS3,
  list: Bucket["list"],
): Pick<Bucket, "make" | "write" | "destroy"> {
  /** Asks for something that must be done. */
  async function must(question: S3Question, signal: AbortSignal): Promise<Answer> {
    const answer = await ask(question, signal);
    return answer.status < 300 ? answer : refuseS3(name, answer, denied);
  }

  /** Sends a part, which the store checks; its ETag. */
  async function send(
    key: string,
    file: string,
    part: Part,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<string> {
    const headers = {
      "content-length": String(part.end - part.start),
      "content-md5": part.md5.toString("base64"),
    };
    const body = () => (part.end > part.start ? streamOf(file, part) : "");
    const answer = await must({ method: "PUT", key, query, headers, body }, signal);
    return answer.header("etag") ?? "";
  }

  async function sendParts(
    key: string,
    file: string,
    parts: readonly Part[],
    signal: AbortSignal,
  ): Promise<void> {
    const { text } = await must({ method: "POST", key, query: { uploads: "" } }, signal);
    const query = { uploadId: textIn(text, "UploadId") ?? "" };
    try {
      const etags = new Map<number, string>();
      const put = async ([at, part]: [number, Part], until: AbortSignal) => {
        const partNumber = String(at + 1);
        etags.set(at, await send(key, file, part, { ...query, partNumber }, until));
      };
      await workThrough(parts.entries(), partsAtOnce, put, signal);
      const body = () => completionOf(parts.map((_, at) => etags.get(at) ?? ""));
      const done = await must({ method: "POST", key, query, body }, signal);
      // What goes wrong late comes with status 200.
      if (codeOf(done) !== undefined) refuseS3(name, { ...done, status: 500 }, denied);
    } catch (error) {
      // Parts without an end cost as much as objects, and nobody sees them.
      const patience = AbortSignal.timeout(abortMs);
      await ask({ method: "DELETE", key, query }, patience).catch(() => {});
      throw error;
    }
  }

  return {
    async make(signal) {
      const isUsual = ["us-east-1", "auto"].includes(region);
      const body = () => (isUsual ? "" : placeOf(region));
      const answer = await ask({ method: "PUT", body }, signal);
      if (answer.status < 300 || codeOf(answer) === "BucketAlreadyOwnedByYou") return;
      if (answer.status === 409)
        fail("ConflictError", `${name} is the bucket of somebody else; choose another name`, {
          bucket: name,
        });
      refuseS3(name, answer, denied);
    },
    async write(key, file, parts, signal) {
      const [only] = parts;
      if (only !== undefined && parts.length === 1) await send(key, file, only, {}, signal);
      else await sendParts(key, file, parts, signal);
    },
    async destroy(signal) {
      const remove = async (key: string, until: AbortSignal) => {
        const answer = await ask({ method: "DELETE", key }, until);
        if (answer.status >= 300 && answer.status !== 404) refuseS3(name, answer, denied);
      };
      try {
        // To list goes on while what was listed is deleted: a page is known by its last key.
        for await (const keys of inPages(list("", signal)))
          await workThrough(keys, deletionsAtOnce, remove, signal);
        await remove("", signal);
      } catch (error) {
        if (!(error instanceof Error && error.name === "NotFoundError")) throw error;
      }
    },
  };
}

const abortMs = 10_000;
const pageLength = 1_000;

async function* inPages(objects: AsyncIterable<{ readonly key: string }>) {
  let keys: string[] = [];
  for await (const { key } of objects) {
    if (keys.push(key) < pageLength) continue;
    yield keys;
    keys = [];
  }
  yield keys;
}

const completionOf = (etags: readonly string[]): string => {
  const parts = etags.map(
    (etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
  );
  return `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`;
};

const placeOf = (region: string): string =>
  `<CreateBucketConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><LocationConstraint>${region}</LocationConstraint></CreateBucketConfiguration>`;
