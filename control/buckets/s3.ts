import { setTimeout as sleep } from "node:timers/promises";
import { waitMs } from "../../common/loop.ts";
import { type Answer, ask, isBusy, refuse, tries, usualWaitMs } from "./ask.ts";
import type { Bucket, StoredObject } from "./bucket.ts";
import { encode, type Keys, presign } from "./sigv4.ts";
import { listIn, textIn } from "./xml.ts";

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

const daySeconds = 24 * 3_600;

/** Opens a bucket; nothing is asked of it yet. */
export function openS3(address: S3Address, now: () => Date, firstWaitMs = usualWaitMs): Bucket {
  /** The store says where the bucket is, if that is elsewhere. */
  let { region } = address;
  const addressOf = (key: string, query: Readonly<Record<string, string>> = {}): string => {
    const path = [address.bucket, ...key.split("/")].map(encode).join("/");
    const url = new URL(
      `${address.endpoint.replace(/\/+$/, "").replace("{region}", region)}/${path}`,
    );
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    if (address.keys === undefined) return url.href;
    return presign({ method: "GET", url, region, seconds: daySeconds, at: now() }, address.keys);
  };

  async function page(query: Readonly<Record<string, string>>, signal: AbortSignal) {
    for (let attempt = 1; ; attempt += 1) {
      const url = addressOf("", { "list-type": "2", "encoding-type": "url", ...query });
      const answer = await ask(address.name, url, signal);
      if (answer.status === 200) return answer.text;
      const place = answer.header("x-amz-bucket-region") ?? region;
      const isElsewhere = place !== region;
      if (attempt === tries || (!isBusy(answer) && !isElsewhere))
        return refuseList(address, answer);
      if (isElsewhere) region = place;
      else await sleep(waitMs(firstWaitMs, attempt), undefined, { signal });
    }
  }

  async function* list(prefix: string, signal: AbortSignal): AsyncGenerator<StoredObject> {
    for (let token: string | undefined = ""; token !== undefined; ) {
      const text = await page({ prefix, ...(token && { "continuation-token": token }) }, signal);
      yield* listIn(text);
      token =
        textIn(text, "IsTruncated") === "true" ? textIn(text, "NextContinuationToken") : undefined;
    }
  }

  return {
    list,
    addressOf,
    async find(key, signal) {
      // An object comes before all whose keys are longer.
      const [first] = listIn(await page({ prefix: key, "max-keys": "1" }, signal));
      return first?.key === key ? first : undefined;
    },
  };
}

function refuseList({ name }: S3Address, answer: Answer): never {
  const code = textIn(answer.text.slice(0, 4_096), "Code")?.match(/^\w{1,80}$/)?.[0];
  const denied = "refuses access; pass keys that may list and read it";
  return refuse(name, answer, { denied, missing: "does not exist", code });
}
