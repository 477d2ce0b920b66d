import { type Hook, type HookEvent, hookEvents } from "../hooks.ts";
import { child, refuse } from "./place.ts";
import { integer, isMapping, isWithin, listOf, needs, readFields, reads, text } from "./readers.ts";
import { mapping } from "./schema.ts";

/** How many hooks there may be, and what one may be and take. */
export const hookLimits = {
  hooks: 32,
  runBytes: 16 * 1024,
  timeoutSeconds: 3600,
  timeoutAtMostSeconds: 86_400,
} as const;

/** Seconds that a hook may take. */
export const hookTimeout = integer({ min: 1, max: hookLimits.timeoutAtMostSeconds });

const run = reads(text.schema, (place) => {
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
});

const event = reads(
  { enum: hookEvents },
  (place) =>
    hookEvents.find((name) => name === place.value) ??
    refuse(place, `must be one of ${hookEvents.join(", ")}`),
);

const eventList = listOf(event);
const eventsSchema = { ...eventList.schema, minItems: 1, uniqueItems: true };
const events = reads<HookEvent[]>(eventsSchema, (place) => {
  const { value } = place;
  if (!Array.isArray(value))
    return refuse(place, `must be a list of ${hookEvents.join(", ")}`, "type_error");
  if (value.length === 0)
    return refuse(place, "must name at least one event; leave it out for all three");
  if (!isWithin(place, value.length)) return undefined;
  for (const [at, name] of value.entries())
    if (value.indexOf(name) < at) refuse(child(place, at), "is given twice; keep one of them");
  return eventList(place);
});

const readers = { run, events, timeout: hookTimeout };
const hook = reads<Hook>(mapping(readers, ["run"]), (place) => {
  if (!isMapping(place.value))
    return refuse(
      place,
      "must be a mapping with `run` and, optionally, `events` and `timeout`",
      "type_error",
    );
  const given = readFields(place, readers, "seen");
  if (!Object.hasOwn(place.value, "run")) needs(place, "run");
  if (given.run === undefined) return undefined;
  return {
    run: given.run,
    events: given.events ?? hookEvents,
    timeoutSeconds: given.timeout ?? hookLimits.timeoutSeconds,
  };
});

const hookList = listOf(hook);
const schema = { ...hookList.schema, maxItems: hookLimits.hooks };

/** The list under `config.hooks`; an empty one clears the hooks of a cluster. */
export const hooks = reads<Hook[]>(schema, (place) => {
  if (!Array.isArray(place.value))
    return refuse(
      place,
      "must be a list of hooks; write `[]` for none, or leave it out",
      "type_error",
    );
  const { hooks: atMost } = hookLimits;
  if (place.value.length > atMost)
    return refuse(place, `holds ${place.value.length} hooks; at most ${atMost} are allowed`);
  return hookList(place);
});
