import { clusterCommands } from "./catalog/clusters.ts";
import { controlCommands } from "./catalog/control.ts";
import { jobCommands } from "./catalog/jobs.ts";
import type { CommandRow } from "./catalog/row.ts";

/** Every command, in the order of help. */
export const commands: readonly CommandRow[] = [
  ...clusterCommands,
  ...jobCommands,
  ...controlCommands,
];
