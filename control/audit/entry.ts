import type { InputOf, Operation } from "../../common/operation.ts";
import type { Identity } from "../access/identity.ts";
import type { Ground } from "../ground.ts";
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
  ctx.batch((tx) => addAudit(tx, auditOf(call, ctx.now())));

const reasonCharacters = 300;

/** The entry of the audit log about a call. */
export function auditOf(call: AuditedCall, at: Date): NewAudit {
  const { row, input, identity, address, requestId, refusal } = call;
  return {
    at: at.getTime(),
    userId: identity?.user.id ?? "",
    userName: identity?.user.name ?? "",
    credential: identity?.credential ?? "",
    address,
    operation: row.name,
    subject: subjectOf(row, input),
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

/** What a call is about, in words: `cluster demo`. */
function subjectOf(_row: Operation, input: InputOf<Operation>): string | null {
  const fields = (input ?? {}) as Record<string, unknown>;
  const named = Object.entries(naming).flatMap(([field, noun]) => {
    const names = [fields[field] ?? []].flat().filter((name) => typeof name === "string");
    return names.length === 0 ? [] : [`${noun} ${names.join(", ")}`.trim()];
  });
  return named[0]?.slice(0, subjectCharacters) ?? null;
}
