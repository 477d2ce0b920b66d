import type { Parcel } from "./cargo.ts";

/** A parcel that a cluster remembers, for nodes that it gets later. */
export interface KeptParcel extends Parcel {
  /** Every node had it; otherwise it is on its way, or did not get there. */
  readonly hasArrived: boolean;
}
