import type { IncomingMessage } from "node:http";
import type * as z from "zod";
import { fail } from "../common/errors.ts";
import type { Operation } from "../common/operation.ts";

const largestBodyBytes = 16 * 1024 * 1024;

/** The checked input of an operation as one flat object; throws `ValueError` or `TooLargeError`. */
export async function readInput(
  { input }: Operation,
  path: Readonly<Record<string, string>>,
  query: URLSearchParams,
  req: IncomingMessage,
): Promise<Record<string, unknown>> {
  const body = input.body === undefined ? {} : check(input.body, await readJson(req));
  return {
    ...body,
    ...check(input.query, Object.fromEntries(query)),
    ...check(input.path, path),
  };
}

function check(shape: z.ZodObject | undefined, given: unknown): Record<string, unknown> {
  const parsed = shape?.safeParse(given);
  if (parsed === undefined) return {};
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.join(".") ?? "";
  fail("ValueError", `${where === "" ? "the body" : where}: ${issue?.message ?? "not valid"}`);
}

async function readJson(req: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > largestBodyBytes)
      fail("TooLargeError", `the body is larger than ${largestBodyBytes} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    fail("ValueError", "the body is not JSON");
  }
}
