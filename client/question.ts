import { hasOpenBody, type Operation, toHttpCall } from "../common/operation.ts";
import { product } from "../common/product.ts";
import type { Question } from "./transport.ts";

/** What every body says about its caller. */
export interface CallerFields {
  readonly entrypoint_command: string;
  readonly using_remote_api_server: boolean;
}

/** The HTTP request of an operation: each field travels where its row says; others are left out. */
export function questionOf(row: Operation, input: object, caller: CallerFields): Question {
  const fields = { ...caller, entrypoint: `${product.word}.${row.name}` };
  const said = hasOpenBody(row) ? { ...input } : { ...fields, ...input };
  const { method, path, body } = toHttpCall(row, said);
  return { method, path, ...(body && { json: body }) };
}
