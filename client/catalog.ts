import { clusterCommands } from "./catalog/clusters.ts";
import { controlCommands } from "./catalog/control.ts";
import { jobCommands } from "./catalog/jobs.ts";
import { nodeCommands } from "./catalog/nodes.ts";
import type { CommandRow } from "./catalog/row.ts";
import { servingCommands } from "./catalog/serving.ts";
import { sshCommands } from "./catalog/ssh.ts";

/** Every command, in the order of help. */
export const commands: readonly CommandRow[] = [
  ...clusterCommands,
  ...jobCommands,
  ...sshCommands,
  ...nodeCommands,
  ...servingCommands,
  ...controlCommands,
];
