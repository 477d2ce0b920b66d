import { setImmediate as nextTurn } from "node:timers/promises";
import type { InputOf } from "../../common/operation.ts";
import { auditOperations as rows } from "../../contract/operations/audit.ts";
import type { AuditEntry, AuditVerdict } from "../../contract/records/audit.ts";
import { type Bound, bind, type Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { pageRows } from "../db/lists.ts";
import { type AuditRow, flawOf, type Link } from "./chain.ts";
import { isDropNoted } from "./collect.ts";
import { findLink, findOldest, getBeginning, listAfter, listAudit } from "./store.ts";

/** The log of who did what. */
export const auditOperations: Bound[] = [
  bind(rows.list, async (ctx, input) => ({
    entries: (await listAudit(ctx.db, input)).map(entryOf),
  })),
  bind(rows.verify, verify),
];

const entryOf = ({ at, hash, ...row }: AuditRow): AuditEntry => ({
  ...row,
  at: at / 1_000,
  hash: hexOf(hash),
});

const hexOf = (hash: Uint8Array): string => Buffer.from(hash).toString("hex");

/** More take another call, so that none takes long. */
const entriesAtMost = 40 * pageRows;

/** Follows the chain for a stretch, up to the first entry that does not fit. */
async function verify(
  ctx: Context,
  { from, expect_hash: expected }: InputOf<typeof rows.verify>,
  { signal }: Call,
): Promise<AuditVerdict> {
  const start = await startOf(ctx, from);
  if (typeof start === "string") return broken(start);
  let last = start;
  let entries = 0;
  let hasExpected = hexOf(start.hash) === expected;
  const verdict = (next: number | null): AuditVerdict => ({
    ...{ entries, next, last_hash: hexOf(last.hash), has_expected: hasExpected, broken: null },
  });
  while (entries < entriesAtMost && !signal.aborted) {
    const page = await listAfter(ctx.db, last.seq);
    for (const row of page) {
      const flaw = flawOf(row, last);
      if (flaw !== undefined) return { ...verdict(null), broken: flaw };
      last = row;
      entries += 1;
      hasExpected ||= hexOf(row.hash) === expected;
    }
    if (page.length < pageRows) return verdict(null);
    await nextTurn();
  }
  return verdict(last.seq + 1);
}

const broken = (flaw: string): AuditVerdict => ({
  ...{ entries: 0, next: null, last_hash: "", has_expected: false, broken: flaw },
});

/** What the first entry to check must be chained to, or what is wrong before that. */
async function startOf({ db }: Context, from: number | null): Promise<Link | string> {
  const beginning = await getBeginning(db);
  // What was dropped since the call before needs no check any more.
  if (from !== null && from > beginning.seq + 1)
    return (await findLink(db, from - 1)) ?? `entry ${from - 1} is missing`;
  const { seq } = beginning;
  const oldest = await findOldest(db);
  if (oldest === null) return seq === 0 ? beginning : `all entries after entry ${seq} are missing`;
  if (oldest <= seq) return `entry ${oldest} was added: all up to entry ${seq} were dropped`;
  return seq === 0 || (await isDropNoted(db, seq))
    ? beginning
    : `entries up to ${seq} were removed, and not for their age`;
}
