import { child, refuse } from "./place.ts";
import { integer, isMapping, listOf, needs, type Reader, readFields, text } from "./readers.ts";

/** What may happen to a cluster that hooks wait for. */
export const hookEvents = ["stop", "preemption", "down"] as const;
export type HookEvent = (typeof hookEvents)[number];

/** A script that runs on the cluster before an event. */
export interface Hook {
  readonly run: string;
  readonly events: readonly HookEvent[];
  readonly timeoutSeconds: number;
}

const maxHooks = 32;
const maxRunBytes = 16 * 1024;
const defaultTimeoutSeconds = 3600;

/** Seconds that a hook may take. */
export const hookTimeout = integer({ min: 1, max: 86_400 });

/** The list under `config.hooks`; an empty one clears the hooks of a cluster. */
export const hooks: Reader<Hook[]> = (place) => {
  if (!Array.isArray(place.value))
    return refuse(
      place,
      "must be a list of hooks; write `[]` for none, or leave it out",
      "type_error",
    );
  if (place.value.length > maxHooks)
    return refuse(place, `holds ${place.value.length} hooks; at most ${maxHooks} are allowed`);
  return listOf(hook)(place);
};

const hook: Reader<Hook> = (place) => {
  if (!isMapping(place.value))
    return refuse(
      place,
      "must be a mapping with `run`, and maybe `events` and `timeout`",
      "type_error",
    );
  const given = readFields(place, { run, events, timeout: hookTimeout }, "seen");
  if (!Object.hasOwn(place.value, "run")) needs(place, "run");
  if (given.run === undefined) return undefined;
  return {
    run: given.run,
    events: given.events ?? hookEvents,
    timeoutSeconds: given.timeout ?? defaultTimeoutSeconds,
  };
};

const run: Reader<string> = (place) => {
  const value = text(place);
  if (value === undefined) return undefined;
  if (value.trim() === "") return refuse(place, "must not be empty; it is the script of the hook");
  if (Buffer.byteLength(value) > maxRunBytes)
    return refuse(
      place,
      `must not exceed ${maxRunBytes / 1024} KiB; call a longer script by its path`,
    );
  return value;
};

const events: Reader<HookEvent[]> = (place) => {
  const { value } = place;
  if (!Array.isArray(value))
    return refuse(place, `must be a list out of ${hookEvents.join(", ")}`, "type_error");
  if (value.length === 0)
    return refuse(place, "must name at least one event; leave it out for all three");
  for (const [at, name] of value.entries())
    if (value.indexOf(name) < at) refuse(child(place, at), "is given twice; keep one of them");
  return listOf(event)(place);
};

const event: Reader<HookEvent> = (place) =>
  hookEvents.find((name) => name === place.value) ??
  refuse(place, `must be one of ${hookEvents.join(", ")}`);
