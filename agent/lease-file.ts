import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorCodeOf, fail } from "../common/errors.ts";
import type { Config } from "./config.ts";

/** The lease of a node, beside the journal: it must hold also where that is lost. */
export interface Lease {
  readonly leaseMs: number;
  /** Since when its time counts: milliseconds since the boot with `bootId`, sleep included. */
  readonly fromMs: number;
  readonly bootId: string;
  /** Whether it was not renewed in time; for ever then. */
  readonly isOver: boolean;
}

type Folder = Pick<Config, "agentFolder">;

const fileOf = ({ agentFolder }: Folder): string => join(agentFolder, "lease.json");

/** The lease as it was written last, or undefined; one that cannot be read is over. */
export function readLease(config: Folder): Lease | undefined {
  try {
    return JSON.parse(readFileSync(fileOf(config), "utf8"));
  } catch (error) {
    if (errorCodeOf(error) === "ENOENT") return undefined;
    return { leaseMs: 0, fromMs: 0, bootId: "", isOver: true };
  }
}

/** Writes the lease, whole or not at all. */
export function writeLease(config: Folder, lease: Lease): void {
  const draft = `${fileOf(config)}.draft`;
  writeFileSync(draft, JSON.stringify(lease), { mode: 0o600 });
  renameSync(draft, fileOf(config));
}

export const removeLease = (config: Folder): void => rmSync(fileOf(config), { force: true });

/** Throws `ConflictError` once the lease of a node is over: it takes no work any more. */
export function refuseWithoutLease({ lease }: { readonly lease: Lease | undefined }): void {
  if (lease?.isOver)
    fail("ConflictError", "jobs are not accepted: control did not renew the lease in time");
}
