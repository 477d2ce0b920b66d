import * as z from "zod";
import { record } from "./record.ts";

/** An entry of the audit log. */
export const AuditEntry = record("AuditEntry", {
  seq: z.int().describe("Its number; entries are numbered without gaps."),
  at: z.number().describe("Unix seconds."),
  user_id: z.string().describe("Empty where nobody was identified."),
  user_name: z.string(),
  credential: z.string().describe("What proved it: `token ci`, `session`, `local`."),
  address: z.string().describe("Where the call came from."),
  operation: z.string().describe("Name of the operation, or `login` and `logout`."),
  subject: z.string().nullable().describe("What it was about: `cluster demo`."),
  outcome: z.enum(["allowed", "refused"]),
  reason: z.string().nullable().describe("Why it was refused."),
  request_id: z.string().nullable(),
  hash: z.string().describe("Hex SHA-256 over this entry and the hash of the one before."),
});
export type AuditEntry = z.output<typeof AuditEntry>;

/** A page of the audit log. */
export const AuditPage = z.object({ entries: z.array(AuditEntry) }).meta({ id: "AuditPage" });
export type AuditPage = z.output<typeof AuditPage>;

/** What a check of a stretch of the chain found. */
export const AuditVerdict = record("AuditVerdict", {
  entries: z.int().describe("Entries that were checked."),
  next: z.int().nullable().describe("Number to continue from; null when all were checked."),
  last_hash: z
    .string()
    .describe("Hash of the last one; keep it elsewhere to detect that later entries were removed."),
  has_expected: z.boolean().describe("Whether one of these has the hash that was looked for."),
  broken: z.string().nullable().describe("The first problem found, if any."),
});
export type AuditVerdict = z.output<typeof AuditVerdict>;
