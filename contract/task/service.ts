import { child, gives, type Place, refuse } from "./place.ts";
import { type MakeTemplate, type Probe, probeSchema, readProbe } from "./probe.ts";
import {
  choice,
  data,
  fields,
  filledText,
  ignored,
  integer,
  isMapping,
  machines,
  reads,
  unlisted,
  writtenText,
} from "./readers.ts";
import {
  fixedReplicas,
  policySettings,
  type ReplicaPolicy,
  readReplicaPolicy,
} from "./replica-policy.ts";
import type { Resources } from "./resources.ts";
import type { Template } from "./substitution.ts";

export const loadBalancingPolicies = [
  "round_robin",
  "least_load",
  "instance_aware_least_load",
] as const;

/** What keeps replicas on one machine apart: `netns` is a network namespace a node, `auto` is one where the port is fixed. */
export const isolations = ["auto", "none", "netns"] as const;

/** An endpoint that is kept alive, a cluster behind each of its replicas. */
export interface Service {
  readonly probe: Probe;
  readonly replicas: ReplicaPolicy;
  readonly loadBalancing: (typeof loadBalancingPolicies)[number];
  /** Where each replica listens. */
  readonly port: number;
  readonly isolation: (typeof isolations)[number];
  /** How many more replicas than wanted an update may have meanwhile, and how many fewer. */
  readonly update: { readonly maxSurge: number; readonly maxUnavailable: number };
  /** Paths of the caller's files. */
  readonly tls: Template<{ readonly keyFile: string; readonly certFile: string }> | undefined;
  /** What the sidecar before each replica asks of a request; undefined lets every request through. */
  readonly auth: Template<{ readonly apiKey: string }> | undefined;
}

const count = machines(0);

const tls = fields({ keyfile: filledText, certfile: filledText }, ["keyfile", "certfile"]);
const auth = fields({ api_key: writtenText }, ["api_key"]);

export const serviceSettings = fields({
  readiness_probe: reads(probeSchema, data),
  replicas: count,
  workers: unlisted(count),
  replica_policy: reads(policySettings.schema, data),
  load_balancing_policy: choice(...loadBalancingPolicies),
  ports: integer({ min: 1, max: 65_535 }),
  isolation: choice(...isolations),
  tls: reads(tls.schema, data),
  auth: reads(auth.schema, data),
  max_surge: count,
  max_unavailable: count,
  pool: ignored,
});

/** Reads `service`; `template` says what names in its texts stand for. */
export function readService(
  place: Place,
  resources: Resources,
  template: MakeTemplate,
): Service | undefined {
  const given = serviceSettings(place) ?? {};
  if (!isMapping(place.value)) return undefined;
  const replicas = readReplicas(place, given.replicas ?? given.workers ?? 1, usesSpot(resources));
  const service: Service = {
    probe: readProbe(child(place, "readiness_probe"), template),
    replicas,
    loadBalancing: given.load_balancing_policy ?? "least_load",
    port: given.ports ?? portOf(place, resources) ?? 0,
    isolation: given.isolation ?? "auto",
    update: { maxSurge: given.max_surge ?? 1, maxUnavailable: given.max_unavailable ?? 0 },
    tls: gives(place, "tls") ? readTls(child(place, "tls"), template) : undefined,
    auth: gives(place, "auth") ? readAuth(child(place, "auth"), template) : undefined,
  };
  checkProbe(place, service);
  checkBalancing(place, service);
  checkUpdate(place, service);
  checkResources(place, resources, service.replicas);
  return service;
}

const usesSpot = ({ candidates }: Resources) => candidates.some(({ useSpot }) => useSpot);

function readReplicas(place: Place, replicas: number, spot: boolean): ReplicaPolicy {
  const given = ["replicas", "workers", "replica_policy"].filter((field) => gives(place, field));
  const [first, second] = given;
  if (first !== undefined && second !== undefined)
    refuse(place, `cannot have both \`${first}\` and \`${second}\`; keep one of them`);
  if (!gives(place, "replica_policy")) return fixedReplicas(replicas);
  return readReplicaPolicy(child(place, "replica_policy"), spot);
}

/** The one port that every candidate opens. */
function portOf(place: Place, { candidates }: Resources): number | undefined {
  if (gives(place, "ports")) return undefined;
  const opened = candidates.map(({ ports }) => ports.join(","));
  const [first = ""] = opened;
  if (opened.some((ports) => ports !== first))
    return refuse(place, "needs the same port in every candidate of `resources`");
  if (/^\d+$/.test(first)) return Number(first);
  const found = first === "" ? "none is given" : `${first} are given`;
  return refuse(
    place,
    `needs exactly one port, in \`resources.ports\` or \`service.ports\`; ${found}`,
  );
}

function readTls(place: Place, template: MakeTemplate): Service["tls"] {
  const { keyfile, certfile } = tls(place) ?? {};
  if (keyfile === undefined || certfile === undefined) return undefined;
  return template({ keyFile: keyfile, certFile: certfile });
}

function readAuth(place: Place, template: MakeTemplate): Service["auth"] {
  const { api_key } = auth(place) ?? {};
  if (api_key === undefined) return undefined;
  if (api_key === "") return refuse(child(place, "api_key"), "must not be empty");
  return template({ apiKey: api_key });
}

function checkProbe(place: Place, { probe, auth }: Service): void {
  if (auth !== undefined && probe.request.template.scheme === "https")
    refuse(
      child(child(place, "readiness_probe"), "scheme"),
      "cannot be https together with `auth`: the sidecar before each replica speaks HTTP",
    );
}

function checkBalancing(place: Place, { replicas, loadBalancing }: Service): void {
  const byAccelerator = typeof replicas.targetQps === "object";
  const isAware = loadBalancing === "instance_aware_least_load";
  if (byAccelerator && !isAware)
    refuse(
      child(child(place, "replica_policy"), "target_qps_per_replica"),
      "by accelerator needs `load_balancing_policy: instance_aware_least_load`",
    );
  if (isAware && !byAccelerator)
    refuse(
      child(place, "load_balancing_policy"),
      "needs `replica_policy.target_qps_per_replica` as a mapping of accelerators",
    );
}

function checkUpdate(place: Place, { update }: Service): void {
  if (update.maxSurge === 0 && update.maxUnavailable === 0)
    refuse(child(place, "max_surge"), "cannot be 0 together with `max_unavailable`");
}

function checkResources(place: Place, resources: Resources, replicas: ReplicaPolicy): void {
  const { candidates } = resources;
  const spot = candidates.filter(({ useSpot }) => useSpot).length;
  const hasFallback = replicas.dynamicOndemandFallback || replicas.baseOndemandReplicas > 0;
  if (spot > 0 && spot < candidates.length && !hasFallback)
    refuse(place, "needs `use_spot` in all candidates of `resources` or in none, or a fallback");
}
