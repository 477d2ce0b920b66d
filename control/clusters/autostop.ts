import type { Task } from "../../contract/task.ts";
import type { AutostopSetting } from "./schema.ts";

/** The part of a launch that speaks of autostop beside the task. */
interface LaunchInput {
  idle_minutes_to_autostop: number | null;
  down: boolean;
}

/** What a launch sets: its own fields, then the task's, else what was there before. */
export function autostopOf(
  input: LaunchInput,
  { resources }: Task,
  before: AutostopSetting | null,
): AutostopSetting | null {
  const { idle_minutes_to_autostop: minutes, down } = input;
  const asked = resources.autostop;
  if (minutes !== null && minutes < 0) return null;
  if (minutes !== null) return { idleMinutes: minutes, down, waitFor: "jobs_and_ssh" };
  if (asked === "off") return null;
  if (asked !== undefined) return toSetting(asked);
  return down ? { idleMinutes: 0, down: true, waitFor: "jobs_and_ssh" } : before;
}

const toSetting = ({ idleMinutes, down, waitFor }: AutostopSetting): AutostopSetting => ({
  idleMinutes,
  down,
  waitFor,
});
