import { setTimeout as sleep } from "node:timers/promises";
import { AppError, fail } from "../../common/errors.ts";
import { waitMs } from "../../common/loop.ts";
import { type Answer, ask, isBusy, type Question, refuse, tries, usualWaitMs } from "./ask.ts";
import { encode, type Keys, presign } from "./sigv4.ts";
import { textIn } from "./xml.ts";

/** A bucket of a store that speaks S3. */
export interface S3Address {
  /** What messages call it: `s3://bucket`. */
  readonly name: string;
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Absent, the bucket must be open to everybody. */
  readonly keys: Keys | undefined;
}

/** What is asked of a bucket, or of the object of a key. */
export interface S3Question extends Omit<Question, "body"> {
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Begins what is sent anew for each try. */
  readonly body?: () => Exclude<Question["body"], undefined>;
}

/** Asks a store until it is not too busy and the bucket's region is known; its last answer. */
export type AskS3 = (question: S3Question, signal: AbortSignal) => Promise<Answer>;

const daySeconds = 24 * 3_600;

/** Ways to ask a bucket. */
export interface S3Asking {
  readonly ask: AskS3;
  /** An address with a signature, which is good for a day. */
  addressOf(question: S3Question): string;
}

/** The ways to ask a bucket; nothing is asked of it yet. */
export function askingS3(address: S3Address, now: () => Date, firstWaitMs = usualWaitMs): S3Asking {
  /** The store says where the bucket is, if that is elsewhere. */
  let { region } = address;
  const addressOf = ({ method = "GET", key = "", query = {} }: S3Question): string => {
    const steps = key.split("/");
    // A URL folds them, and it would be an object of another name, even of another bucket.
    if (steps.some((step) => step === "." || step === ".."))
      fail(
        "ValueError",
        `${address.name}: objects with \`.\` or \`..\` in their path are not supported: ${key}`,
      );
    const path = [address.bucket, ...steps].map(encode).join("/");
    const url = new URL(
      `${address.endpoint.replace(/\/+$/, "").replace("{region}", region)}/${path}`,
    );
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    if (address.keys === undefined) return url.href;
    return presign({ method, url, region, seconds: daySeconds, at: now() }, address.keys);
  };

  async function askUntil(question: S3Question, signal: AbortSignal): Promise<Answer> {
    const { method = "GET", headers = {}, body } = question;
    for (let attempt = 1; ; attempt += 1) {
      const sent = { method, headers, ...(body && { body: body() }) };
      const answer = await ask(address.name, addressOf(question), signal, sent).catch(
        (error: unknown) => {
          // A connection that broke while much was sent.
          if (body && attempt < tries && error instanceof AppError) return undefined;
          throw error;
        },
      );
      const place = answer?.header("x-amz-bucket-region") ?? region;
      const isElsewhere = place !== region;
      if (answer && (attempt === tries || (!isBusy(answer) && !isElsewhere))) return answer;
      if (isElsewhere) region = place;
      else await sleep(waitMs(firstWaitMs, attempt), undefined, { signal });
    }
  }

  return { ask: askUntil, addressOf };
}

/** Throws what an answer means that is a refusal. */
export function refuseS3(name: string, answer: Answer, denied: string): never {
  return refuse(name, answer, { denied, missing: "does not exist", code: codeOf(answer) });
}

/** What S3 calls an error. */
export const codeOf = ({ text }: Answer): string | undefined =>
  textIn(text.slice(0, 4_096), "Code")?.match(/^\w{1,80}$/)?.[0];
