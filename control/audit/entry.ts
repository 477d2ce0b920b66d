import type { InputOf, Operation } from "../../common/operation.ts";
import type { Identity } from "../access/identity.ts";
import type { Queries } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { findToken } from "../tokens/store.ts";
import { findUser } from "../users/store.ts";
import { addAudit, type NewAudit } from "./store.ts";

/** A call that is audited: which row, with what, by whom, from where. */
export interface AuditedCall {
  readonly row: Operation;
  readonly input: InputOf<Operation>;
  readonly identity: Identity | undefined;
  readonly address: string;
  readonly requestId: string | null;
  /** Why it was refused; undefined where it was allowed. */
  readonly refusal?: Error | undefined;
}

/** Writes an entry about a call down. */
export const audit = (ctx: Ground, call: AuditedCall): Promise<void> =>
  ctx.batch(async (tx) => {
    const name = await nameOf(tx, call.input);
    return addAudit(tx, auditOf(call, ctx.now(), name));
  });

/** The name of the user or token whose id a call has: once it is gone, the id says nothing. */
async function nameOf(db: Queries, input: InputOf<Operation>): Promise<string | undefined> {
  const { user_id: user, token_id: token } = (input ?? {}) as Record<string, unknown>;
  if (typeof user === "string") return (await findUser(db, user))?.name;
  return typeof token === "string" ? (await findToken(db, token))?.name : undefined;
}

const reasonCharacters = 300;

/** The entry of the audit log about a call. */
export function auditOf(call: AuditedCall, at: Date, name?: string): NewAudit {
  const { row, input, identity, address, requestId, refusal } = call;
  return {
    at: at.getTime(),
    userId: identity?.user.id ?? "",
    userName: identity?.user.name ?? "",
    credential: identity?.credential ?? "",
    address,
    operation: row.name,
    subject: subjectOf(input, name),
    outcome: refusal === undefined ? "allowed" : "refused",
    reason: refusal?.message.slice(0, reasonCharacters) ?? null,
    requestId,
  };
}

/** The fields of inputs that name what a call is about, and what they name. */
const naming: Readonly<Record<string, string>> = {
  cluster_name: "cluster",
  cluster: "cluster",
  service_name: "service",
  service_names: "services",
  pool_name: "pool",
  pool_names: "pools",
  workspace_name: "workspace",
  user_id: "user",
  username: "user",
  token_id: "token",
  token_name: "token",
  recipe_name: "recipe",
  names: "",
  request_ids: "requests",
  name: "",
};

const subjectCharacters = 300;

/** What a call is about, in words: `cluster demo`, `user 5f0c3a1e (ana): role admin, password`. */
function subjectOf(input: InputOf<Operation>, name: string | undefined): string | null {
  const fields = (input ?? {}) as Record<string, unknown>;
  const [named] = Object.entries(naming).flatMap(([field, noun]) => {
    const names = [fields[field] ?? []].flat().filter((one) => typeof one === "string");
    return names.length === 0 ? [] : [`${noun} ${names.join(", ")}`.trim()];
  });
  if (named === undefined) return null;
  const { role, password } = fields;
  const given = [
    ...(typeof role === "string" ? [`role ${role}`] : []),
    ...(typeof password === "string" ? ["password"] : []),
  ];
  const called = name === undefined ? named : `${named} (${name})`;
  return [called, ...(given.length > 0 ? [given.join(", ")] : [])]
    .join(": ")
    .slice(0, subjectCharacters);
}
