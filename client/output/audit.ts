import * as z from "zod";
import { AuditEntry, type AuditVerdict } from "../../contract/records/audit.ts";
import { form, instant, instantOf } from "./shapes.ts";

/** An entry of the audit log, as `audit` prints it. */
export const auditForm = form(
  z.strictObject({ ...AuditEntry.shape, at: instant }),
  (entry: AuditEntry) => ({ ...entry, at: instantOf(entry.at) ?? "" }),
);

/** Whether the log is whole, as `audit --verify` prints it. */
export const verdictForm = form(
  z.strictObject({
    entries: z.int().describe("Entries that were checked."),
    last_hash: z.string().describe("Hash of the last one; keep it elsewhere for --expect-hash."),
    broken: z.string().nullable().describe("What is wrong, if anything."),
  }),
  ({ entries, last_hash, broken }: Pick<AuditVerdict, "entries" | "last_hash" | "broken">) => ({
    ...{ entries, last_hash, broken },
  }),
);
