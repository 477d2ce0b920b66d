import type { ProcessId } from "../common/process-tree.ts";

/** The file in a home by which clients on the same machine find its control plane. */
export const controlPidFile = "control.pid";

/** The file in a home whose content lets in callers that are not control's own user. */
export const tokenFile = "token";

/** What that file holds, as JSON; host and port once control listens. */
export interface ControlProcess extends ProcessId {
  readonly host?: string;
  readonly port?: number;
  /** It speaks HTTPS. */
  readonly tls?: boolean;
}
