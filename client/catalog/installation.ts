import * as option from "./options.ts";
import { inGroup } from "./row.ts";

const installation = "Installation:";

/** Commands about this installation and the machine that it is on. */
export const installationCommands = inGroup(installation, {
  doctor: {
    summary: "Check this machine and say how to fix what is missing.",
    options: { ...option.outputs },
    more: `Changes nothing. Exits with 1 if something required is missing; warnings do not count.

Examples:
  outrigger doctor
  outrigger doctor --fields check,status,hint     as JSON, for scripts`,
  },
  version: {
    summary: "Print the version of this command line, its commit, API versions and Node.js.",
    options: { ...option.outputs },
    more: `outrigger api info shows the version of the control plane.

Examples:
  outrigger version
  outrigger version --fields version,commit       as JSON, for scripts`,
  },
});
