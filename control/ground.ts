import type { Changes } from "../common/changes.ts";
import type { Seal } from "../common/seal.ts";
import type { Refusals } from "./audit/refusals.ts";
import type { Config } from "./config.ts";
import type { Batch } from "./db/batch.ts";
import type { Lease } from "./db/lease.ts";
import type { Queries } from "./db/open.ts";
import type { Logger } from "./log.ts";
import type { Configurations } from "./workspaces/configurations.ts";

/** What stores and their like need: a noun can be read and tested with that alone. */
export interface Ground {
  readonly config: Config;
  readonly log: Logger;
  /** To read; whatever is written goes through `batch`. */
  readonly db: Queries & { destroy(): Promise<void> };
  /** The right to write, which `batch` checks each time. */
  readonly lease: Lease;
  /** Writes that may share a disk flush with others of the same moment. */
  readonly batch: Batch;
  readonly seal: Seal;
  readonly changes: Changes;
  readonly configurations: Configurations;
  /** Which refused calls the audit log lists. */
  readonly refusals: Refusals;
  now(): Date;
  /**
   * Now in epoch milliseconds, by a clock that is never set while control runs: what judges how much time has
   * passed goes by it. It agrees with `now` until that is set.
   */
  steadyNow(): number;
}
