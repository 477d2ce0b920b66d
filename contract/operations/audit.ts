import { operationsOf } from "../../common/operation.ts";
import { caps, text } from "../caps.ts";
import { AuditPage, AuditVerdict } from "../records/audit.ts";
import { optional, query, queryBoolean, queryInteger } from "./fields.ts";

/** The log of who did what. */
export const auditOperations = operationsOf("audit.", {
  list: {
    route: "GET /audit",
    summary: "List entries of the audit log, newest first.",
    access: "admin",
    audited: false,
    input: query({
      before: optional(queryInteger(1)).describe("Only entries older than this number."),
      limit: queryInteger(1, caps.entries).default(100).describe("At most n."),
      user: optional(text).describe("Only those of this user, by name or id."),
      operation: optional(text).describe("Only those of this operation, such as launch."),
      refused: queryBoolean(false).describe("Only what was refused."),
    }),
    output: AuditPage,
    errors: ["PermissionDeniedError"],
  },
  verify: {
    route: "GET /audit/verify",
    summary: "Check that no entry of the audit log was changed, added or removed.",
    access: "admin",
    audited: false,
    input: query({
      from: optional(queryInteger(1)).describe("Number to begin at; null is the oldest."),
      expect_hash: optional(text).describe("Hash of an entry to look for."),
    }),
    output: AuditVerdict,
    errors: ["PermissionDeniedError"],
  },
});
