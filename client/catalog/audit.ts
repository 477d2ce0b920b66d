import { pastOf, wholeNumber } from "../arguments.ts";
import * as option from "./options.ts";
import type { CommandRow } from "./row.ts";

const access = "Access:";

/** The command that tells who did what. */
export const auditCommands: readonly CommandRow[] = [
  {
    name: "audit",
    group: access,
    summary: "List who did what, newest first, or verify that nobody changed that list.",
    options: [
      { flags: "--user <user>", means: "Only what this user did, by name or id." },
      { flags: "--operation <name>", means: "Only this operation: launch, users.create." },
      { flags: "--refused", means: "Only what was refused." },
      {
        flags: "--since <when>",
        means: "Nothing older: 90m, 24h, 30d, 2026-11-20, 2026-11-20T18:00:00Z.",
        parse: pastOf,
      },
      {
        flags: "--limit <n>",
        means: "At most n entries; 50 by default, with ndjson all.",
        parse: wholeNumber(1),
      },
      option.watch,
      { flags: "--verify", means: "Check the chain of hashes; exits with 1 if it is broken." },
      {
        flags: "--expect-hash <hash>",
        means: "With --verify: an entry must have this hash, which you kept from an earlier check.",
      },
      ...option.outputs.map((one) =>
        one === option.output
          ? {
              ...one,
              means: "Output format; ndjson: an object per line.",
              choices: ["table", "json", "ndjson"],
            }
          : one,
      ),
    ],
    more: `For administrators. See docs/audit.md.

Examples:
  outrigger audit --refused --since 24h
  outrigger audit -w --refused
  outrigger audit -o ndjson > audit.ndjson       export all of it
  outrigger audit --verify`,
    load: async () => (await import("../commands/audit.ts")).audit,
  },
];
