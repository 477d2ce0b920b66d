import type { Answer } from "./ask.ts";
import type { Bucket, StoredObject } from "./bucket.ts";
import { askingS3, refuseS3, type S3Address } from "./s3-asking.ts";
import { writing } from "./s3-writing.ts";
import { listIn, textIn } from "./xml.ts";

/** Opens a bucket of a store that speaks S3; nothing is asked of it yet. */
export function openS3(address: S3Address, now: () => Date, firstWaitMs?: number): Bucket {
  const { ask, addressOf } = askingS3(address, now, firstWaitMs);
  const page = (query: Readonly<Record<string, string>>, signal: AbortSignal) =>
    ask({ query: { "list-type": "2", "encoding-type": "url", ...query } }, signal);

  async function* list(prefix: string, signal: AbortSignal): AsyncGenerator<StoredObject> {
    for (let token: string | undefined = ""; token !== undefined; ) {
      const text = readList(
        address,
        await page({ prefix, ...(token && { "continuation-token": token }) }, signal),
      );
      yield* listIn(text);
      token =
        textIn(text, "IsTruncated") === "true" ? textIn(text, "NextContinuationToken") : undefined;
    }
  }

  return {
    list,
    addressOf: (key) => addressOf({ key }),
    async find(key, signal) {
      // An object comes before all whose keys are longer.
      const [first] = listIn(
        readList(address, await page({ prefix: key, "max-keys": "1" }, signal)),
      );
      return first?.key === key ? first : undefined;
    },
    async look(signal) {
      const answer = await page({ "max-keys": "1" }, signal);
      if (answer.status === 404) return "missing";
      return listIn(readList(address, answer)).length > 0 ? "filled" : "empty";
    },
    ...writing(address, ask, list),
  };
}

const readList = ({ name }: S3Address, answer: Answer): string =>
  answer.status === 200
    ? answer.text
    : refuseS3(name, answer, "refuses access; pass keys that may list and read it");
