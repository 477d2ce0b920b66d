import type { Autostop } from "../../contract/task/autostop.ts";
import type { Task } from "../../contract/task.ts";
import type { AutostopSetting } from "./schema.ts";

/** The part of a launch that speaks of autostop beside the task. */
interface LaunchInput {
  idle_minutes_to_autostop: number | null;
  down: boolean;
}

/** What somebody asks for; null leaves it to what is usual, or was there before. */
interface Asked {
  idleMinutes: number;
  down: boolean;
  waitFor?: AutostopSetting["waitFor"] | null;
  hook?: AutostopSetting["hook"] | undefined;
}

/** What is set for a cluster; negative minutes cancel. A hook stays until another one comes. */
export function settingOf(
  { idleMinutes, down, waitFor, hook }: Asked,
  before: AutostopSetting | null,
): AutostopSetting | null {
  if (idleMinutes < 0) return null;
  return {
    idleMinutes,
    down,
    waitFor: waitFor ?? "jobs_and_ssh",
    hook: hook ?? before?.hook ?? null,
  };
}

/**
 * What a launch sets: its own fields, then the task's, else what was there before. A list of hooks
 * replaces an older hook, too: that is a first entry of it.
 */
export function autostopOf(
  input: LaunchInput,
  { resources, hooks }: Pick<Task, "resources" | "hooks">,
  was: AutostopSetting | null,
): AutostopSetting | null {
  const before = was && hooks !== undefined ? { ...was, hook: null } : was;
  const { idle_minutes_to_autostop: minutes, down } = input;
  const asked = resources.autostop;
  const hook = hookOf(asked);
  if (minutes !== null) return settingOf({ idleMinutes: minutes, down, hook }, before);
  if (asked === "off") return null;
  if (asked !== undefined) return settingOf({ ...asked, hook }, before);
  return down ? settingOf({ idleMinutes: 0, down }, before) : before;
}

/** A line that says what a launch changes of autostop; a new cluster has none `before`. */
export function autostopNews(now: AutostopSetting | null, before?: AutostopSetting | null): string {
  const [text, was] = [now, before ?? null].map(describe);
  if (text === was) return "";
  return `autostop: ${text}${before === undefined ? "" : ` (was: ${was})`}\n`;
}

const workWords = {
  jobs_and_ssh: "",
  jobs: ", ignoring SSH sessions",
  none: ", ignoring jobs",
} as const;

/** `down after 15 min`, `stop as soon as it is idle`. */
function describe(setting: AutostopSetting | null): string {
  if (setting === null) return "off";
  const { down, idleMinutes, waitFor } = setting;
  const when = idleMinutes === 0 ? "as soon as it is idle" : `after ${idleMinutes} min`;
  return `${down ? "down" : "stop"} ${when}${workWords[waitFor]}`;
}

/** The older way to write a hook; undefined where a task does not. */
export function hookOf(asked: Autostop | "off" | undefined): AutostopSetting["hook"] | undefined {
  if (asked === undefined || asked === "off" || asked.hook === undefined) return undefined;
  const { run, timeoutSeconds } = asked.hook;
  return { run, timeoutSeconds };
}
