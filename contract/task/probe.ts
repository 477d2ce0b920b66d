import { asText } from "./amounts.ts";
import { child, isFull, itemsOf, type Place, refuse } from "./place.ts";
import {
  choice,
  data,
  fields,
  integer,
  mappingOf,
  number,
  type Reader,
  reads,
  text,
  writtenText,
} from "./readers.ts";
import { amount, either, list } from "./schema.ts";
import type { Template } from "./substitution.ts";

/** What is asked of a replica to learn whether it is ready. */
export interface ProbeRequest {
  readonly method: "GET" | "HEAD" | "POST" | "PUT";
  readonly scheme: "http" | "https";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON; undefined sends none. */
  readonly body: unknown;
}

/** Statuses from the first to the last. */
export type StatusRange = readonly [first: number, last: number];

/** How a service learns whether a replica is ready. */
export interface Probe {
  readonly request: Template<ProbeRequest>;
  readonly initialDelaySeconds: number;
  readonly timeoutSeconds: number;
  readonly intervalSeconds: number;
  /** So many good answers in a row make a replica ready. */
  readonly successThreshold: number;
  /** So many bad ones in a row make it not ready. */
  readonly failureThreshold: number;
  /** Not ready for so long, it is replaced. */
  readonly failureWindowSeconds: number;
  readonly expectedStatus: readonly StatusRange[];
}

/** Turns what was read into what may be stored. */
export type MakeTemplate = <T>(value: T) => Template<T>;

const positive = number({ above: 0 });
const status = amount(/^[1-5]\d\d(?:-[1-5]\d\d)?$/);

const settings = fields(
  {
    path: text,
    headers: mappingOf(writtenText),
    post_data: reads({ type: ["object", "array", "string"] }, data),
    method: choice("GET", "HEAD", "POST", "PUT"),
    scheme: choice("http", "https"),
    initial_delay_seconds: number({ min: 0 }),
    timeout_seconds: positive,
    interval_seconds: positive,
    success_threshold: integer({ min: 1 }),
    failure_threshold: integer({ min: 1 }),
    failure_window_seconds: positive,
    expected_status: reads(either(status, list(status)), statusRanges),
  },
  ["path"],
);
export const probeSchema = either(text.schema, settings.schema);

/** Reads `readiness_probe`: a path, or a mapping. */
export function readProbe(place: Place, template: MakeTemplate): Probe {
  const isMissing = place.value === undefined || place.value === null;
  const isPath = typeof place.value === "string";
  const given = isMissing || isPath ? {} : (settings(place) ?? {});
  const path = isPath ? String(place.value) : (given.path ?? "/");
  const body = jsonOf(child(place, "post_data"));
  const headers = given.headers ?? {};
  const method = given.method ?? (body === undefined ? "GET" : "POST");
  const request = template({ method, scheme: given.scheme ?? "http", path, headers, body });
  if (!request.template.path.startsWith("/"))
    refuse(isPath ? place : child(place, "path"), "must begin with `/`");
  return {
    request,
    initialDelaySeconds: given.initial_delay_seconds ?? 1200,
    timeoutSeconds: given.timeout_seconds ?? 15,
    intervalSeconds: given.interval_seconds ?? 10,
    successThreshold: given.success_threshold ?? 1,
    failureThreshold: given.failure_threshold ?? 3,
    failureWindowSeconds: given.failure_window_seconds ?? 180,
    expectedStatus: given.expected_status ?? [[200, 299]],
  };
}

/** A mapping or list as it is; text must be JSON. */
function jsonOf(place: Place): unknown {
  const { value } = place;
  if (value === undefined || value === null) return undefined;
  if (typeof value === "object") return value;
  try {
    return JSON.parse(String(value));
  } catch {
    return refuse(place, "must be a mapping, or text that is JSON");
  }
}

function statusRanges(place: Place): StatusRange[] {
  return itemsOf(place).flatMap((item) => (isFull(item) ? [] : (statusRange(item) ?? [])));
}

const statusRange: Reader<[StatusRange]> = (place) => {
  const [, from, to = from] = /^([1-5]\d\d)(?:-([1-5]\d\d))?$/.exec(asText(place.value)) ?? [];
  if (from === undefined || Number(from) > Number(to))
    return refuse(place, "must be a status or a range of them: 200 or 200-299");
  return [[Number(from), Number(to)]];
};
