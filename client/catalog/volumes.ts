import * as option from "./options.ts";
import { inGroup } from "./row.ts";

/** Commands about volumes that tasks attach. */
export const volumeCommands = inGroup("Volumes:", {
  "volumes ls": {
    summary: "List volumes, and which clusters use them.",
    options: { "-r, --refresh": "Look first whether each is there.", ...option.outputs },
    more: "Examples:\n  outrigger volumes ls",
  },
  "volumes apply": {
    operands: "<file>",
    summary: "Create a volume, or register what exists, from a YAML file.",
    options: { "-n, --name <name>": "Name, in place of the one in the file." },
    more: `The file may also be - for stdin, or recipes:NAME. docs/volumes.md lists the fields.

Examples:
  outrigger volumes apply data.yaml
  outrigger volumes apply recipes:shared-folder --name team-data`,
  },
  "volumes delete": {
    operands: "<volumes...>",
    summary: "Delete volumes with what is in them; what was only registered stays.",
    options: {
      "--purge": "Forget it even if it is in use or its machine is away.",
      ...option.yes,
      ...option.ignoreNotFound,
    },
    more: "Examples:\n  outrigger volumes delete data",
  },
});
