import type { PlannedReplica, ProbePlan } from "../../../contract/balancer-api.ts";
import { fillTemplate } from "../../../contract/task/substitution.ts";
import type { Decision } from "../decisions/plan.ts";
import { capacityOf } from "../decisions/scale.ts";
import type { Plan, Replica } from "../schema.ts";
import type { OpenVersion } from "../versions/task.ts";

/** While no replica is ready so many requests wait, for so long. */
const hold = { requests: 1_000, ms: 300_000 };
/** Nobody waits for what will not come. */
const noHold = { requests: 0, ms: 0 };

/** What the balancer of a service is to do. Holds the keys that probes carry. */
export function balancerPlanOf(
  replicas: readonly Replica[],
  roles: Decision["roles"],
  { goal, versions }: { goal: OpenVersion; versions: ReadonlyMap<number, OpenVersion> },
): Plan {
  const planned = replicas.flatMap((replica) => {
    const role = roles.get(replica.number);
    return role === undefined
      ? []
      : plannedOf(replica, role, versions.get(replica.version) ?? goal);
  });
  const used = [...new Set(planned.map(({ version }) => version))];
  const probes = used.map((version) => [version, probeOf(versions.get(version) ?? goal)]);
  return {
    policy: goal.spec.loadBalancing,
    probes: Object.fromEntries(probes),
    replicas: planned,
    tls: goal.tls,
    hold: goal.spec.replicas.max === 0 ? noHold : hold,
  };
}

/** The plan of a service that goes down: what is open is finished, nothing new is taken. */
export const closingPlanOf = (plan: Plan): Plan => ({
  ...plan,
  replicas: plan.replicas.map((replica) => ({ ...replica, role: "draining" as const })),
  hold: noHold,
});

function plannedOf(
  { number, version, host, port, accelerators }: Replica,
  role: PlannedReplica["role"],
  { spec }: OpenVersion,
): PlannedReplica[] {
  if (host === null || port === null) return [];
  const capacity = capacityOf(spec.replicas, accelerators) ?? 1;
  return [{ id: number, version, host, port, role, capacity }];
}

function probeOf(version: OpenVersion): ProbePlan {
  const { task, spec } = version;
  const { probe } = spec;
  const { body, ...request } = fillTemplate(probe.request, task.secrets);
  return {
    ...request,
    headers: { ...keyHeader(version, request.headers), ...request.headers },
    body: body === undefined ? null : JSON.stringify(body),
    timeoutMs: probe.timeoutSeconds * 1_000,
    intervalMs: probe.intervalSeconds * 1_000,
    successThreshold: probe.successThreshold,
    failureThreshold: probe.failureThreshold,
    expectedStatus: probe.expectedStatus.map(([first, last]) => [first, last]),
  };
}

/** The key that the sidecar before a replica asks of the probe too, which may bring its own. */
function keyHeader(
  { task, spec: { auth } }: OpenVersion,
  given: Readonly<Record<string, string>>,
): Record<string, string> {
  const isGiven = Object.keys(given).some((name) => name.toLowerCase() === "authorization");
  if (auth === undefined || isGiven) return {};
  return { Authorization: `Bearer ${fillTemplate(auth, task.secrets).apiKey}` };
}
