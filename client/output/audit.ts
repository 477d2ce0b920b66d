import * as z from "zod";
import { AuditEntry, type AuditVerdict } from "../../contract/records/audit.ts";
import { formOf, instant, instantOf, type Ways } from "./shapes.ts";

/** An entry of the audit log, as `audit` prints it. */
export const auditForm = formOf(({ of }: Ways<AuditEntry>) => ({
  ...AuditEntry.shape,
  at: of(instant, (entry) => instantOf(entry.at) ?? ""),
}));

/** Whether the log is whole, as `audit --verify` prints it. */
export const verdictForm = formOf(
  (_: Ways<Pick<AuditVerdict, "entries" | "last_hash" | "broken">>) => ({
    entries: z.int().describe("Entries that were checked."),
    last_hash: z.string().describe("Hash of the last one; keep it elsewhere for --expect-hash."),
    broken: z.string().nullable().describe("What is wrong, if anything."),
  }),
);
