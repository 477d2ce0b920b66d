import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { jobOperations } from "../../contract/operations/jobs.ts";
import { until } from "../helpers/agent.ts";
import { startControl } from "../helpers/programs.ts";
import { startSlurm } from "../helpers/slurm.ts";

/** A control plane beside a Slurm of two nodes with four GPUs each. */
export async function startOnSlurm(
  t: TestContext,
  { env: more = {}, ...lab }: { hasAccounting?: true; env?: Record<string, string> } = {},
) {
  const slurm = await startSlurm(t, lab);
  const scratch = join(slurm.folder, "scratch");
  mkdirSync(scratch);
  const env = {
    ...{ OUTRIGGER_SLURM: "local", OUTRIGGER_SLURM_CONF: slurm.conf },
    ...{ OUTRIGGER_SLURM_SCRATCH: scratch, ...more },
  };
  const control = await startControl(t, { env });
  /** Jobs, homes of nodes, and folders of clusters. */
  async function listLeft(): Promise<string[]> {
    const jobs = await slurm.run("squeue", "--noheader");
    const names = [scratch, join(control.home, "slurm")].flatMap((folder) => readdirSync(folder));
    // What control notes there itself begins with a dot.
    return [...(jobs === "" ? [] : [jobs]), ...names.filter((name) => !name.startsWith("."))];
  }
  async function untilNothingIsLeft(): Promise<void> {
    await until(async () => (await listLeft()).length === 0 || undefined).catch(() => {});
    assert.deepEqual(await listLeft(), []);
  }
  /** Until the one managed job runs again after so many recoveries. */
  const untilRuns = (recoveries: number) =>
    until(async () => {
      const { jobs } = await control.client.callAndGet(jobOperations.queueV2, {});
      const [job] = jobs;
      return (job?.status === "RUNNING" && job.recovery_count === recoveries) || undefined;
    });
  return { slurm, scratch, control, untilNothingIsLeft, untilRuns };
}

export const aTask = (run: string, more: object = {}) =>
  JSON.stringify({ run, resources: { infra: "slurm" }, ...more });
