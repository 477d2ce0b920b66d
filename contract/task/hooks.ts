import { type Hook, type HookEvent, hookEvents } from "../hooks.ts";
import { child, refuse } from "./place.ts";
import {
  integer,
  isMapping,
  isWithin,
  listOf,
  needs,
  type Reader,
  readFields,
  text,
} from "./readers.ts";

/** How many hooks there may be, and what one may be and take. */
export const hookLimits = {
  hooks: 32,
  runBytes: 16 * 1024,
  timeoutSeconds: 3600,
  timeoutAtMostSeconds: 86_400,
} as const;

/** Seconds that a hook may take. */
export const hookTimeout = integer({ min: 1, max: hookLimits.timeoutAtMostSeconds });

/** The list under `config.hooks`; an empty one clears the hooks of a cluster. */
export const hooks: Reader<Hook[]> = (place) => {
  if (!Array.isArray(place.value))
    return refuse(
      place,
      "must be a list of hooks; write `[]` for none, or leave it out",
      "type_error",
    );
  const { hooks: atMost } = hookLimits;
  if (place.value.length > atMost)
    return refuse(place, `holds ${place.value.length} hooks; at most ${atMost} are allowed`);
  return listOf(hook)(place);
};

const hook: Reader<Hook> = (place) => {
  if (!isMapping(place.value))
    return refuse(
      place,
      "must be a mapping with `run` and, optionally, `events` and `timeout`",
      "type_error",
    );
  const given = readFields(place, { run, events, timeout: hookTimeout }, "seen");
  if (!Object.hasOwn(place.value, "run")) needs(place, "run");
  if (given.run === undefined) return undefined;
  return {
    run: given.run,
    events: given.events ?? hookEvents,
    timeoutSeconds: given.timeout ?? hookLimits.timeoutSeconds,
  };
};

const run: Reader<string> = (place) => {
  const value = text(place);
  if (value === undefined) return undefined;
  if (value.trim() === "") return refuse(place, "must not be empty; it is the script of the hook");
  const { runBytes } = hookLimits;
  if (Buffer.byteLength(value) > runBytes)
    return refuse(
      place,
      `must not exceed ${runBytes / 1024} KiB; call a longer script by its path`,
    );
  return value;
};

const events: Reader<HookEvent[]> = (place) => {
  const { value } = place;
  if (!Array.isArray(value))
    return refuse(place, `must be a list of ${hookEvents.join(", ")}`, "type_error");
  if (value.length === 0)
    return refuse(place, "must name at least one event; leave it out for all three");
  if (!isWithin(place, value.length)) return undefined;
  for (const [at, name] of value.entries())
    if (value.indexOf(name) < at) refuse(child(place, at), "is given twice; keep one of them");
  return listOf(event)(place);
};

const event: Reader<HookEvent> = (place) =>
  hookEvents.find((name) => name === place.value) ??
  refuse(place, `must be one of ${hookEvents.join(", ")}`);
