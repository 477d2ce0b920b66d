import { covers, type Role } from "../../../contract/roles.ts";

/** A call, by the count of steps at which it began and was answered. */
export interface Span {
  readonly began: number;
  readonly ended: number;
}

/** What is known from outside of who may call: each change, when it began and when it was answered. */
export interface Known {
  /** Every secret that there was, whether it still works or not. */
  readonly secrets: readonly string[];
  opened(secret: string, account: string, role: Role, at?: Span): void;
  /** All secrets end that an account had when this began. */
  closed(account: string, at: Span): void;
  changed(account: string, role: Role, at: Span): void;
  /** Why a call with this secret may not have succeeded; undefined where it may. */
  objection(secret: string, needed: Role, call: Span): string | undefined;
}

const always: Span = { began: Number.NEGATIVE_INFINITY, ended: Number.NEGATIVE_INFINITY };

/** Of changes that overlap a call nobody outside knows whether they came before it; of earlier ones they do. */
export function openKnown(): Known {
  const secrets: string[] = [];
  const opened = new Map<string, { account: string; at: Span }>();
  const ends = new Map<string, Span[]>();
  const roles = new Map<string, { role: Role; at: Span }[]>();

  function rolesDuring(account: string, call: Span): Role[] {
    const changes = (roles.get(account) ?? []).filter(({ at }) => at.began <= call.ended);
    const isOver = ({ at }: { at: Span }) =>
      changes.some((later) => later.at.began > at.ended && later.at.ended < call.began);
    return changes.filter((change) => !isOver(change)).map(({ role }) => role);
  }

  return {
    secrets,
    opened(secret, account, role, at = always) {
      secrets.push(secret);
      opened.set(secret, { account, at });
      if (!roles.has(account)) roles.set(account, [{ role, at: always }]);
    },
    closed: (account, at) => void ends.set(account, [...(ends.get(account) ?? []), at]),
    changed: (account, role, at) => void roles.get(account)?.push({ role, at }),
    objection(secret, needed, call) {
      const { account = "", at = always } = opened.get(secret) ?? {};
      const end = ends
        .get(account)
        ?.find(({ began, ended }) => at.ended < began && ended < call.began);
      if (end !== undefined) return `the secret had ended at ${end.ended}`;
      const had = rolesDuring(account, call);
      if (had.some((role) => covers(role, needed))) return undefined;
      return `the role was ${had.join(" or ")}, and ${needed} is needed`;
    },
  };
}
