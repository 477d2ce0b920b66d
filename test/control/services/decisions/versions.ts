import { fixedReplicas, type ReplicaPolicy } from "../../../../contract/task/replica-policy.ts";
import type { Replica, Version } from "../../../../control/services/schema.ts";
import { aReplica } from "../rows.ts";

/** One that failed at an instant. */
export const aFailure = (number: number, endedAt: number, more: Partial<Replica> = {}): Replica =>
  aReplica({ number, status: "FAILED", endedAt, statusChangedAt: endedAt, ...more });

export const aVersion = (version: number, more: Partial<Version> = {}): Version => ({
  serviceId: "s",
  version,
  command: "",
  mode: "rolling",
  because: "an update",
  createdAt: 0,
  readyAt: null,
  givenUp: null,
  ...more,
});

export const aPolicy = (min: number, more: Partial<ReplicaPolicy> = {}): ReplicaPolicy => ({
  ...fixedReplicas(min),
  ...more,
});
