import type { Cluster } from "../schema.ts";
import type { DoorKeys } from "./keys.ts";

/** Where somebody wants to get: a node of a cluster. */
export interface Place {
  readonly cluster: Cluster;
  readonly rank: number;
  readonly keys: DoorKeys;
}
