import type { Readable } from "node:stream";
import { request } from "undici";
import { AppError, type ErrorType, fail, messageOf } from "../../common/errors.ts";

/** What a store answered. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  header(name: string): string | undefined;
}

/** How often a store is asked that is too busy, and how long to wait before the second time. */
export const tries = 6;
export const usualWaitMs = 200;

/** What is asked besides the address; to read it, by default. */
export interface Question {
  readonly method?: "GET" | "PUT" | "POST" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Readable | string;
}

/** Asks at an address. Throws `StorageError` where the store cannot be reached. */
export async function ask(
  name: string,
  url: string,
  signal: AbortSignal,
  question: Question = {},
): Promise<Answer> {
  try {
    const { statusCode: status, headers: told, body } = await request(url, { signal, ...question });
    return {
      status,
      text: await body.text(),
      header: (key) => (Array.isArray(told[key]) ? told[key][0] : told[key]),
    };
  } catch (error) {
    signal.throwIfAborted();
    const why = messageOf(error);
    throw new AppError("StorageError", `${name} cannot be reached: ${why}`, {}, error);
  }
}

/** Whether it is worth asking again. */
export const isBusy = ({ status }: Answer): boolean => status === 429 || status >= 500;

/** Why a store does nothing, in its own words. */
interface Words {
  readonly denied: string;
  readonly missing: string;
  /** What the store calls it. */
  readonly code?: string | undefined;
}

/** Throws what an answer means that is a refusal; its details name the bucket. */
export function refuse(name: string, { status }: Answer, { denied, missing, code }: Words): never {
  const busy = { type: "RateLimitError", why: "is too busy; try again later" } as const;
  const meanings: Readonly<Record<number, { type: ErrorType; why: string }>> = {
    401: { type: "PermissionDeniedError", why: denied },
    403: { type: "PermissionDeniedError", why: denied },
    404: { type: "NotFoundError", why: missing },
    ...{ 429: busy, 503: busy },
  };
  const { type, why } = meanings[status] ?? { type: "StorageError", why: "answered with an error" };
  const words = [status, code].filter(Boolean).join(" ");
  return fail(type, `${name} ${why} (${words})`, { bucket: name });
}
