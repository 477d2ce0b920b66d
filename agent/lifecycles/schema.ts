import type { HookSet } from "../../contract/lifecycle-shapes.ts";
import type { LifecycleRow } from "./row.ts";

/** What the hooks of a lifecycle are: their scripts by index, and what they run in. */
export interface LifecycleSpec extends Pick<HookSet, "env" | "secrets"> {
  readonly scripts: readonly string[];
}

/** A lifecycle that the disk had no room for yet, and the events that tell of it. */
export interface Unsaved {
  readonly row: LifecycleRow;
  readonly spec?: LifecycleSpec;
  readonly tells: readonly string[];
}
