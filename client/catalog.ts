import { accessCommands } from "./catalog/access.ts";
import { auditCommands } from "./catalog/audit.ts";
import { clusterCommands } from "./catalog/clusters.ts";
import { configurationCommands } from "./catalog/configuration.ts";
import { controlCommands } from "./catalog/control.ts";
import { installationCommands } from "./catalog/installation.ts";
import { jobCommands } from "./catalog/jobs.ts";
import { managedJobCommands } from "./catalog/managed-jobs.ts";
import { nodeCommands } from "./catalog/nodes.ts";
import type { OptionRow } from "./catalog/options.ts";
import {
  detach,
  errorOutput,
  followingOutput,
  includes,
  later,
  noFollow,
  output,
  rowsOf,
  timeout,
} from "./catalog/options.ts";
import { poolCommands } from "./catalog/pools.ts";
import { recipeCommands } from "./catalog/recipes.ts";
import type { CommandRow } from "./catalog/row.ts";
import { secretCommands } from "./catalog/secrets.ts";
import { servingCommands } from "./catalog/serving.ts";
import { sshCommands } from "./catalog/ssh.ts";
import { storageCommands } from "./catalog/storage.ts";
import type { NamesIn, ValuesIn } from "./catalog/values.ts";
import { volumeCommands } from "./catalog/volumes.ts";
import { workspaceCommands } from "./catalog/workspaces.ts";
import type { Run } from "./world.ts";

const groups = [
  clusterCommands,
  jobCommands,
  managedJobCommands,
  poolCommands,
  sshCommands,
  nodeCommands,
  servingCommands,
  recipeCommands,
  secretCommands,
  storageCommands,
  volumeCommands,
  workspaceCommands,
  controlCommands,
  accessCommands,
  auditCommands,
  configurationCommands,
  installationCommands,
] as const;

/** Every command, in the order of help, with the options that they share. */
export const commands: readonly CommandRow[] = groups
  .flat()
  .map((row) => (row.readsItself ? row : { ...row, options: [...row.options, ...sharedBy(row)] }));

type Groups = NonNullable<(typeof groups)[number]["given"]>;
export type CommandName = NamesIn<Groups>;

/** What the options of a command give; those that many commands share are not among them. */
export type OptionsOf<Of extends CommandName> = ValuesIn<Groups, Of>;

/** The code of a command. */
export type Command<Of extends CommandName> = Run<OptionsOf<Of>>;

/** All tell errors as JSON where they are asked to, and those that wait can be given a limit. */
function sharedBy({ name, options }: CommandRow): OptionRow[] {
  // What is done through a request on the control plane can be left to it.
  const isAction = includes(options, later) || /^ssh (up|down)$/.test(name);
  const waits = isAction || includes(options, noFollow);
  const hasOutput = options.some(({ flags }) => Object.hasOwn(output, flags));
  const hasAnswer = !/^(shell|completion)$/.test(name);
  const follows = includes(options, detach);
  const own = follows ? followingOutput : hasAnswer ? output : errorOutput;
  return rowsOf({ ...(waits && timeout), ...(!hasOutput && own) });
}
