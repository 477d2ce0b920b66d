import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { until } from "../helpers/agent.ts";
import { startControl } from "../helpers/programs.ts";
import { startSlurm } from "../helpers/slurm.ts";

/** A control plane beside a Slurm of two nodes with four GPUs each. */
export async function startOnSlurm(t: TestContext) {
  const slurm = await startSlurm(t);
  const scratch = join(slurm.folder, "scratch");
  mkdirSync(scratch);
  const env = {
    ...{ OUTRIGGER_SLURM: "local", OUTRIGGER_SLURM_CONF: slurm.conf },
    OUTRIGGER_SLURM_SCRATCH: scratch,
  };
  const control = await startControl(t, { env });
  const untilNothingIsLeft = () =>
    until(async () => {
      const jobs = await slurm.run("squeue", "--noheader");
      return (jobs === "" && readdirSync(scratch).length === 0) || undefined;
    });
  return { slurm, control, untilNothingIsLeft };
}

export const aTask = (run: string, more: object = {}) =>
  JSON.stringify({ run, resources: { infra: "slurm" }, ...more });
