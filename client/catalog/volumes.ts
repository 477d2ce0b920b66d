import * as option from "./options.ts";
import type { CommandRow } from "./row.ts";

const volumes = "Volumes:";

/** Commands about volumes that tasks attach. */
export const volumeCommands: readonly CommandRow[] = [
  {
    name: "volumes ls",
    group: volumes,
    summary: "List volumes, and which clusters use them.",
    options: [
      { flags: "-r, --refresh", means: "Look first whether each is there." },
      ...option.outputs,
    ],
    more: "Examples:\n  outrigger volumes ls",
    load: async () => (await import("../commands/volumes.ts")).list,
  },
  {
    name: "volumes apply",
    group: volumes,
    operands: "<file>",
    summary: "Create a volume, or register what exists, from a YAML file.",
    options: [{ flags: "-n, --name <name>", means: "Name, in place of the one in the file." }],
    more: `The file may also be - for stdin, or recipes:NAME. docs/volumes.md lists the fields.

Examples:
  outrigger volumes apply data.yaml
  outrigger volumes apply recipes:shared-folder --name team-data`,
    load: async () => (await import("../commands/volumes.ts")).apply,
  },
  {
    name: "volumes delete",
    group: volumes,
    operands: "<volumes...>",
    summary: "Delete volumes with what is in them; what was only registered stays.",
    options: [
      { flags: "--purge", means: "Forget it even if it is in use or its machine is away." },
      option.yes,
      option.ignoreNotFound,
    ],
    more: "Examples:\n  outrigger volumes delete data",
    load: async () => (await import("../commands/volumes.ts")).remove,
  },
];
