import { child, gives, type Place, refuse } from "./place.ts";
import { choice, fields, flag, isMapping, machines, mappingOf, number, reads } from "./readers.ts";
import { either } from "./schema.ts";

/** How many replicas a service has, and when it has more or fewer. */
export interface ReplicaPolicy {
  readonly min: number;
  readonly max: number;
  /** Requests a second that one replica takes, by accelerator or for all; undefined never scales. */
  readonly targetQps: number | Readonly<Record<string, number>> | undefined;
  /** Of a pool: while more jobs than that wait, it gets one more worker. */
  readonly queueLength?: number;
  readonly overprovision: number;
  readonly upscaleDelaySeconds: number;
  readonly downscaleDelaySeconds: number;
  /** Replaces spot replicas that are missing by others until they are back. */
  readonly dynamicOndemandFallback: boolean;
  /** So many replicas never run on spot machines. */
  readonly baseOndemandReplicas: number;
  readonly spotPlacer: "dynamic_fallback" | undefined;
}

const count = machines(0);
const delay = number({ min: 0 });
const rate = number({ above: 0 });
const rates = mappingOf(rate);
const rateSchema = either(rate.schema, rates.schema);

const targetQps = reads<number | Record<string, number>>(rateSchema, (place) => {
  if (!isMapping(place.value)) return rate(place);
  for (const name of Object.keys(place.value))
    if (!/^[A-Za-z][\w.-]*(?::\d+)?$/.test(name))
      refuse(child(place, name), "must be a kind of accelerator with an optional count: `A100:8`");
  if (Object.keys(place.value).length === 0)
    return refuse(place, "must name at least one accelerator");
  return rates(place);
});

export const policySettings = fields(
  {
    min_replicas: count,
    max_replicas: count,
    target_qps_per_replica: targetQps,
    num_overprovision: count,
    upscale_delay_seconds: delay,
    downscale_delay_seconds: delay,
    dynamic_ondemand_fallback: flag,
    base_ondemand_fallback_replicas: count,
    spot_placer: choice("dynamic_fallback"),
  },
  ["min_replicas"],
);

/** A policy of so many replicas, neither more nor fewer. */
export function fixedReplicas(replicas: number): ReplicaPolicy {
  return {
    min: replicas,
    max: replicas,
    targetQps: undefined,
    overprovision: 0,
    upscaleDelaySeconds: 300,
    downscaleDelaySeconds: 1200,
    dynamicOndemandFallback: false,
    baseOndemandReplicas: 0,
    spotPlacer: undefined,
  };
}

/** Reads `replica_policy`. */
export function readReplicaPolicy(place: Place, usesSpot: boolean): ReplicaPolicy {
  const given = policySettings(place) ?? {};
  const min = given.min_replicas ?? 0;
  const max = given.max_replicas ?? min;
  const fixed = fixedReplicas(min);
  const policy: ReplicaPolicy = {
    ...fixed,
    max,
    targetQps: given.target_qps_per_replica,
    overprovision: given.num_overprovision ?? 0,
    upscaleDelaySeconds: given.upscale_delay_seconds ?? fixed.upscaleDelaySeconds,
    downscaleDelaySeconds: given.downscale_delay_seconds ?? fixed.downscaleDelaySeconds,
    dynamicOndemandFallback: given.dynamic_ondemand_fallback ?? false,
    baseOndemandReplicas: given.base_ondemand_fallback_replicas ?? 0,
    spotPlacer: given.spot_placer,
  };
  checkScaling(place, policy);
  checkFallback(place, policy, usesSpot);
  return policy;
}

function checkScaling(place: Place, { min, max }: ReplicaPolicy): void {
  const scales = gives(place, "target_qps_per_replica");
  if (max < min)
    refuse(child(place, "max_replicas"), `must be at least \`min_replicas\`, which is ${min}`);
  else if (scales && !gives(place, "max_replicas"))
    refuse(child(place, "target_qps_per_replica"), "needs `max_replicas`");
  else if (!scales && max !== min)
    refuse(place, "needs `target_qps_per_replica` when `max_replicas` is more than `min_replicas`");
}

function checkFallback(place: Place, policy: ReplicaPolicy, usesSpot: boolean): void {
  const needsSpot = {
    dynamic_ondemand_fallback: policy.dynamicOndemandFallback,
    base_ondemand_fallback_replicas: policy.baseOndemandReplicas > 0,
    spot_placer: policy.spotPlacer !== undefined,
  };
  for (const [field, isUsed] of Object.entries(needsSpot))
    if (isUsed && !usesSpot) refuse(child(place, field), "needs `resources.use_spot: true`");
  if (policy.baseOndemandReplicas > policy.min)
    refuse(
      child(place, "base_ondemand_fallback_replicas"),
      `must not exceed \`min_replicas\`, which is ${policy.min}`,
    );
}
