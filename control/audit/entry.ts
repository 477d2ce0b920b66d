import { AppError, errorTypes, toAppError } from "../../common/errors.ts";
import type { InputOf, Operation } from "../../common/operation.ts";
import type { Identity } from "../access/identity.ts";
import type { Call } from "../bind.ts";
import type { Connection, Queries } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { findToken } from "../tokens/store.ts";
import { findUser } from "../users/store.ts";
import type { NewAudit } from "./schema.ts";
import { addAudit } from "./store.ts";
import { subjectOf } from "./subject.ts";

/** A call that is audited: which row, with what, by whom, from where. */
export interface AuditedCall {
  readonly row: Operation;
  readonly input: InputOf<Operation>;
  readonly identity: Identity | undefined;
  /** Empty for a request that waited for its turn: the entry about its submission has it. */
  readonly address: string;
  readonly requestId: string | null;
  /** Why it was refused; undefined where it was allowed. */
  readonly refusal?: Error | undefined;
}

const refusedWith = [401, 403, 429];

/** Whether there is an error that says that a caller may not do something, not that it went wrong. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof AppError && refusedWith.includes(errorTypes[error.type].http);

/** Does what a caller asked for; where that refuses the caller, an entry says so. */
export async function noteRefusal<T>(
  ctx: Ground,
  call: AuditedCall,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isRefusal(error)) await recordRefusal(ctx, { ...call, refusal: toAppError(error) });
    throw error;
  }
}

/** Writes down that a call was refused; it is answered also where that fails. */
export const recordRefusal = (ctx: Ground, call: AuditedCall): Promise<void> =>
  tolerate(ctx, audit(ctx, call));

/** Writes down a refusal that is no call's, if it is to be listed; nothing fails where that does. */
export const recordRefused = (
  ctx: Ground,
  entry: Omit<NewAudit, "at" | "outcome">,
): Promise<void> =>
  tolerate(
    ctx,
    writeEntries(ctx, listed(ctx, { ...entry, at: ctx.now().getTime(), outcome: "refused" })),
  );

const tolerate = ({ log }: Ground, writing: Promise<void>): Promise<void> =>
  writing.catch((err: unknown) => log.warn({ err }, "refusal not written down"));

/** Writes the entry about a call in a transaction of its own. */
export const audit = async (ctx: Ground, call: AuditedCall): Promise<void> =>
  writeEntries(ctx, entriesOf(ctx, call, await nameOf(ctx.db, call.input)));

/** The name of the user or token whose id a call has: once it is gone, the id says nothing. */
async function nameOf(db: Queries, input: InputOf<Operation>): Promise<string | undefined> {
  const { user_id: user, token_id: token } = (input ?? {}) as Record<string, unknown>;
  if (typeof user === "string") return (await findUser(db, user))?.name;
  return typeof token === "string" ? (await findToken(db, token))?.name : undefined;
}

/** An entry about what a call did beyond what its input says. */
export const entryBy = (
  { now }: Pick<Ground, "now">,
  { id, user, credential, origin }: Pick<Call, "id" | "user" | "credential" | "origin">,
  row: Operation,
  subject: string,
): NewAudit => ({
  ...{ at: now().getTime(), userId: user.id, userName: user.name, credential },
  ...{ address: origin?.address ?? "", operation: row.name, subject },
  ...{ outcome: "allowed", reason: null, requestId: id },
});

/** Writes entries in a transaction of their own; none where there are none. */
export async function writeEntries(ctx: Ground, entries: readonly NewAudit[]): Promise<void> {
  if (entries.length > 0) await ctx.batch((tx) => addEntries(tx, entries));
}

/** Adds entries to the log. */
export async function addEntries(tx: Connection, entries: readonly NewAudit[]): Promise<void> {
  for (const entry of entries) await addAudit(tx, entry);
}

/** The entry about a call, as `listed` has it. */
export const entriesOf = (ctx: Ground, call: AuditedCall, name?: string): NewAudit[] =>
  listed(ctx, entryOf(call, ctx.now(), name));

/** An entry, and what else is due; a refusal that is one too many is only counted. */
export function listed({ refusals }: Ground, entry: NewAudit): NewAudit[] {
  const isListed = entry.outcome === "allowed" || refusals.admit(entry.address);
  return [...refusals.takeLeftOutIfDue(), ...(isListed ? [entry] : [])];
}

function entryOf(call: AuditedCall, at: Date, name: string | undefined): NewAudit {
  const { row, input, identity, address, requestId, refusal } = call;
  return {
    at: at.getTime(),
    userId: identity?.user.id ?? "",
    userName: identity?.user.name ?? "",
    credential: identity?.credential ?? "",
    address,
    operation: row.name,
    subject: subjectOf(row, input, name),
    outcome: refusal === undefined ? "allowed" : "refused",
    reason: refusal?.message ?? null,
    requestId,
  };
}
