import type { Queries } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import type { Link } from "./chain.ts";
import { writeEntries } from "./entry.ts";
import type { NewAudit } from "./schema.ts";
import { addAudit, dropUpTo, findNewest, getBeginning, listAfter, listAudit } from "./store.ts";

const dayMs = 86_400_000;
const atOnce = 2_000;

/** Writes down how many refusals were left out of the log. */
export const collectRefusals = (ctx: Ground): Promise<void> =>
  writeEntries(ctx, ctx.refusals.takeLeftOut());

/**
 * Drops entries that are older than the setting says, once a day, and adds an entry that says so. The
 * newest one stays: the next is chained to it.
 */
export async function collectAudit(ctx: Ground): Promise<void> {
  const { auditDays: days } = ctx.config;
  if (days < 0) return;
  const before = ctx.now().getTime() - days * dayMs;
  for (let isDue = false; ; isDue = true) {
    const oldest = await listAfter(ctx.db, (await getBeginning(ctx.db)).seq, atOnce);
    if (!isDue && (oldest[0]?.at ?? before) > before - dayMs) return;
    const newest = await findNewest(ctx.db);
    const kept = oldest.findIndex(({ at, seq }) => at >= before || seq === newest?.seq);
    const last = kept < 0 ? oldest.at(-1) : oldest[kept - 1];
    if (last === undefined) return;
    await drop(ctx, last);
    if (kept >= 0) return;
  }
}

const drop = (ctx: Ground, last: Link): Promise<void> =>
  ctx.batch(async (tx) => {
    await dropUpTo(tx, last);
    await addAudit(tx, dropEntry(last.seq, ctx.now().getTime()));
  });

const dropName = "audit.drop";
const subjectOf = (seq: number) => `entries up to ${seq}`;

const dropEntry = (seq: number, at: number): NewAudit => ({
  ...{ at, userId: "", userName: "", credential: "", address: "" },
  ...{ operation: dropName, subject: subjectOf(seq), outcome: "allowed" },
  reason: "older than OUTRIGGER_AUDIT_DAYS",
  requestId: null,
});

/** Whether the newest entry about dropped ones says that all up to this one were. */
export async function isDropNoted(db: Queries, seq: number): Promise<boolean> {
  const about = { before: null, limit: 1, user: null, operation: dropName, refused: false };
  const [entry] = await listAudit(db, about);
  return entry?.subject === subjectOf(seq);
}
