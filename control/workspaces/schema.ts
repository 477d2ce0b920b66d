import { fail } from "../../common/errors.ts";
import type {
  Configuration,
  LaunchRules,
  LimitName,
  WorkspaceConfig,
  WorkspaceLimits,
} from "../../contract/records/workspaces.ts";
import type { KubernetesConfig } from "../../contract/task/config.ts";
import { isWithin } from "../../contract/task/infra.ts";

/** The workspace that is always there, and where launches go that name none. */
export const defaultWorkspace = "default";

/** Every workspace, by name. */
export type Workspaces = Readonly<Record<string, WorkspaceConfig>>;

const namePattern = /^[a-z]([-_a-z0-9]*[a-z0-9])?$/;
const nameAtMost = 63;

/** Throws `InvalidWorkspaceNameError` for a text that may not name a workspace. */
export function checkWorkspaceName(name: string): void {
  if (name.length <= nameAtMost && namePattern.test(name)) return;
  fail(
    "InvalidWorkspaceNameError",
    `${JSON.stringify(name.slice(0, 2 * nameAtMost))} cannot name a workspace: begin with a lower-case letter, end ` +
      `with one or a digit, use lower-case letters, digits, - and _ in between, ${nameAtMost} at most`,
  );
}

/** The workspaces of a configuration, the default one included. */
export const workspacesIn = ({ workspaces }: Configuration): Workspaces => ({
  [defaultWorkspace]: {},
  ...workspaces,
});

/** What holds for the launches of a workspace. */
export interface Policy {
  readonly workspace: string;
  readonly limits: WorkspaceLimits;
  /** Defaults for the resources of its tasks. */
  readonly resources: Readonly<Record<string, unknown>>;
  /** What holds for its pods where their task says nothing. */
  readonly pods: KubernetesConfig;
  /** Whether its nodes may be created there: `local`, `ssh/lab`. */
  allows(infra: string): boolean;
}

/** The rules of a workspace over those for all: a place must be allowed by both. */
export function policyOf(document: Configuration, workspace: string): Policy {
  const { allowed_clouds: allowed_infra, ...general } = document;
  const own = workspacesIn(document)[workspace] ?? {};
  return {
    workspace,
    limits: { ...general.limits, ...own.limits },
    resources: { ...general.resources, ...own.resources },
    pods: podsBy({ ...general.kubernetes, ...own.kubernetes }),
    allows: (infra) => [{ allowed_infra }, general, own].every((rules) => isOpen(rules, infra)),
  };
}

const podsBy = ({
  kueue,
  set_pod_resource_limits,
}: NonNullable<LaunchRules["kubernetes"]>): KubernetesConfig => ({
  ...(kueue && { kueue }),
  ...(set_pod_resource_limits && { set_pod_resource_limits }),
});

function isOpen(rules: LaunchRules, infra: string): boolean {
  const [cloud = "", ...rest] = infra.split("/");
  const block = rules[cloud as keyof LaunchRules & "ssh"];
  if (block?.disabled) return false;
  const { allowed_node_pools: pools, allowed_contexts: contexts } = block ?? {};
  // A host is of a pool; names of contexts may contain slashes.
  if (Array.isArray(pools) && !pools.includes(rest[0] ?? "")) return false;
  if (Array.isArray(contexts) && !contexts.includes(rest.join("/"))) return false;
  return rules.allowed_infra?.some((one) => isWithin(infra, lowerCloud(one))) ?? true;
}

/** Clouds go by lower-case names here; other clients write `AWS`. */
const lowerCloud = (infra: string): string =>
  infra.replace(/^[^/]*/, (cloud) => cloud.toLowerCase());

/** Throws why a policy refuses something; `details` say by which limit. */
export function refuse(
  { workspace }: Pick<Policy, "workspace">,
  why: string,
  details: { readonly limit: string; readonly use?: number; readonly maximum?: number },
): never {
  fail("UserRequestRejectedByPolicy", `workspace ${workspace}: ${why}`, { workspace, ...details });
}

/** Throws where nodes of a workspace may not be created at a place. */
export function requireInfra(policy: Policy, infra: string): void {
  if (policy.allows(infra)) return;
  refuse(policy, `its configuration does not allow ${infra} (allowed_infra)`, {
    limit: "allowed_infra",
  });
}

/** Throws where a cluster may be idle for longer than its workspace allows; null is for ever. */
export function requireIdleLimit(policy: Policy, autostop: { idleMinutes: number } | null): void {
  const { idle_minutes: maximum } = policy.limits;
  if (maximum === undefined || (autostop !== null && autostop.idleMinutes <= maximum)) return;
  const has = autostop === null ? "no autostop" : `an autostop of ${autostop.idleMinutes} minutes`;
  refuse(
    policy,
    `a cluster must stop after ${maximum} idle minutes at most (idle_minutes), and this one would have ${has}; ` +
      `set autostop, such as \`-i ${maximum}\``,
    { limit: "idle_minutes", maximum, ...(autostop && { use: autostop.idleMinutes }) },
  );
}

/** What a workspace uses, or what would be added to that. Dollars are those of a day, of a month. */
export type Use = Record<Exclude<LimitName, "idle_minutes">, number>;

const inDollars = (amount: number): string => `$${amount.toFixed(2)}`;

/** How a limit is told, by its name: what is used, and what is asked for. */
const words: Record<keyof Use, (use: number, asked: number, maximum: number) => string> = {
  clusters: (use, asked, maximum) =>
    `${use} of ${maximum} clusters are in use, and this takes ${asked}`,
  accelerators: (use, asked, maximum) =>
    `${use} of ${maximum} accelerators are in use, and this takes ${asked}`,
  dollars_per_day: (use, asked, maximum) => spending("today", use, asked, maximum),
  dollars_per_month: (use, asked, maximum) => spending("this month", use, asked, maximum),
};

const spending = (when: string, use: number, asked: number, maximum: number): string =>
  `${inDollars(use)} of ${inDollars(maximum)} are spent ${when} (UTC), and an hour of this costs ${inDollars(asked)}`;

/** Throws where what is asked for does not fit beside what is in use. */
export function requireRoom(policy: Policy, use: Use, asked: Use): void {
  for (const limit of Object.keys(words) as (keyof Use)[]) {
    const maximum = policy.limits[limit];
    if (maximum === undefined || use[limit] + asked[limit] <= maximum) continue;
    const why = words[limit](use[limit], asked[limit], maximum);
    refuse(policy, `${why} (${limit})`, { limit, use: use[limit], maximum });
  }
}

/** Says which limit on spending is reached; null where none is. */
export function spentOf({ workspace, limits }: Pick<Policy, "workspace" | "limits">, use: Use) {
  for (const limit of ["dollars_per_day", "dollars_per_month"] as const) {
    const maximum = limits[limit];
    if (maximum === undefined || use[limit] < maximum) continue;
    const when = limit === "dollars_per_day" ? "today" : "this month";
    return (
      `workspace ${workspace} has spent ${inDollars(use[limit])} of ${inDollars(maximum)} ${when} ` +
      `(${limit}, UTC); new launches are refused, and running work continues`
    );
  }
  return null;
}
