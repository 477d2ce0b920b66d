import type { SshConnections } from "./connections.ts";
import type { HostFacts } from "./probe.ts";
import type { SshTarget } from "./target.ts";

/** A host that was looked at, and the way there. */
export interface ReachedHost {
  readonly ssh: SshConnections;
  readonly target: SshTarget;
  readonly facts: HostFacts;
}
