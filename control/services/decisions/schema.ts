import type { ReplicaPolicy } from "../../../contract/task/replica-policy.ts";
import type { Service as ServiceSpec } from "../../../contract/task/service.ts";
import type { Replica, Service, Version } from "../schema.ts";

/** What there is to decide from. */
export interface ServiceView {
  readonly service: Pick<Service, "scaling">;
  /** At least one. */
  readonly versions: readonly Version[];
  /** Every replica that is not gone. */
  readonly replicas: readonly Replica[];
  /** Of the version that `goalOf` says. */
  readonly spec: {
    readonly policy: ReplicaPolicy;
    readonly update: ServiceSpec["update"];
    readonly usesSpot: boolean;
  };
  /** Whether there is a machine for a replica, where others found none. */
  readonly hasMachines: boolean;
  /** The ids of workers that have jobs; empty for a service. */
  readonly busy: ReadonlySet<string>;
  /** The numbers of those that are ready, as the balancer says; absent while it is not heard. */
  readonly answering?: ReadonlySet<number>;
  readonly now: number;
}

/** A replica to add. */
export interface Start {
  readonly version: number;
  readonly isSpot: boolean;
  readonly because: string;
}

/** A replica to drain and remove. */
export interface Leave {
  readonly replica: Replica;
  readonly because: string;
}
