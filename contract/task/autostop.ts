import type { Hook } from "../hooks.ts";
import { asText } from "./amounts.ts";
import { hookTimeout } from "./hooks.ts";
import { gives, type Place, refuse, warn } from "./place.ts";
import { choice, fields, flag, integer, isMapping, reads, script } from "./readers.ts";
import { either } from "./schema.ts";
import { parseSeconds } from "./units.ts";

/** When an idle cluster is stopped, or taken down, by itself. */
export interface Autostop {
  readonly idleMinutes: number;
  readonly down: boolean;
  /** What counts as work. */
  readonly waitFor: "jobs_and_ssh" | "jobs" | "none";
  /** The script of `autostop.hook`, the older way to write a hook. */
  readonly hook: Hook | undefined;
}

const defaultMinutes = 5;
const defaults = { down: false, waitFor: "jobs_and_ssh", hook: undefined } as const;

const settings = fields({
  idle_minutes: integer({ min: 0 }),
  down: flag,
  wait_for: choice("jobs_and_ssh", "jobs", "none"),
  hook: script,
  hook_timeout: hookTimeout,
});
const schema = either(
  { type: ["boolean", "integer"] },
  { type: "string", pattern: "^\\s*\\d{1,9}\\s*[smhdwSMHDW]?\\s*$" },
  settings.schema,
);

/** Every form of `autostop`; `"off"` cancels one that was set before. */
export const autostop = reads<Autostop | "off">(schema, (place) => {
  const { value } = place;
  if (isMapping(value)) return fromMapping(place);
  if (value === true) return { ...defaults, idleMinutes: defaultMinutes };
  if (value === false) return "off";
  if (typeof value === "number" && Number.isInteger(value) && value < 0) return "off";
  const seconds = parseSeconds(asText(value), "m");
  if (seconds === undefined)
    return refuse(place, "must be true, false, minutes, a time such as `2h`, or a mapping");
  return { ...defaults, idleMinutes: atLeastOne(Math.ceil(seconds / 60)) };
});

/** No timer is shorter than a minute. */
const atLeastOne = (minutes: number) => Math.max(1, minutes);

function fromMapping(place: Place): Autostop | undefined {
  const given = settings(place) ?? {};
  const down = given.down ?? false;
  return {
    idleMinutes: atLeastOne(given.idle_minutes ?? defaultMinutes),
    down,
    waitFor: given.wait_for ?? "jobs_and_ssh",
    hook: legacyHook(place, given.hook, given.hook_timeout, down ? "down" : "stop"),
  };
}

function legacyHook(
  place: Place,
  run: string | undefined,
  timeoutSeconds: number | undefined,
  event: "stop" | "down",
): Hook | undefined {
  if (gives(place, "hook_timeout") && !gives(place, "hook"))
    refuse(place, "has a `hook_timeout` without a `hook`");
  if (run === undefined) return undefined;
  warn(place, `\`hook\` is deprecated; write it under \`config.hooks\` with events: [${event}]`);
  return { run, events: [event], timeoutSeconds: timeoutSeconds ?? 3600 };
}
