import { pastOf, wholeNumber } from "../arguments.ts";
import * as option from "./options.ts";
import { inGroup } from "./row.ts";

/** The command that tells who did what. */
export const auditCommands = inGroup("Access:", {
  audit: {
    summary: "List who did what, newest first, or verify that nobody changed that list.",
    options: {
      "--user <user>": "Only what this user did, by name or id.",
      "--operation <name>": "Only this operation: launch, users.create.",
      "--refused": "Only what was refused.",
      "--since <when>": {
        means: "Nothing older: 90m, 24h, 30d, 2026-11-20, 2026-11-20T18:00:00Z.",
        parse: pastOf,
      },
      "--limit <n>": {
        means: "At most n entries; 50 by default, with ndjson all.",
        parse: wholeNumber(1),
      },
      ...option.watch,
      "--verify": "Check the chain of hashes; exits with 1 if it is broken.",
      "--expect-hash <hash>":
        "With --verify: an entry must have this hash, which you kept from an earlier check.",
      ...option.outputs,
      "-o, --output <format>": {
        means: "Output format; ndjson: an object per line.",
        choices: ["table", "json", "ndjson"],
      },
    },
    more: `For administrators. See docs/audit.md.

Examples:
  outrigger audit --refused --since 24h
  outrigger audit -w --refused
  outrigger audit -o ndjson > audit.ndjson       export all of it
  outrigger audit --verify`,
  },
});
