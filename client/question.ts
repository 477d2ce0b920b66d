import { type Operation, routeOf } from "../common/operation.ts";
import { product } from "../common/product.ts";
import type { Question } from "./transport.ts";

/** What every body says about its caller. */
export interface CallerFields {
  readonly env_vars: Readonly<Record<string, string>>;
  readonly entrypoint_command: string;
  readonly using_remote_api_server: boolean;
}

/** The HTTP request of an operation: each field travels where its row says; others are left out. */
export function questionOf(row: Operation, input: object, caller: CallerFields): Question {
  const route = routeOf(row);
  const { path, query, body } = row.input;
  const inPath = pick(input, path?.shape);
  const entrypoint = `${product.word}.${row.name}`;
  return {
    method: route.method,
    path: route.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(inPath[name]))),
    query: pick(input, query?.shape),
    ...(body && { json: { ...caller, entrypoint, ...pick(input, body.shape) } }),
  };
}

function pick(input: object, shape: object = {}): Record<string, unknown> {
  const fields = Object.entries(input).filter(([name]) => Object.hasOwn(shape, name));
  return Object.fromEntries(fields);
}
