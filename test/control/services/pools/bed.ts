import assert from "node:assert/strict";
import type { GivenInputOf } from "../../../../common/operation.ts";
import { jobOperations as jobs } from "../../../../contract/operations/jobs.ts";
import { poolOperations as rows } from "../../../../contract/operations/pools.ts";
import type { ServiceStatusRecord } from "../../../../contract/records/services.ts";
import type { ReplicaStatus } from "../../../../contract/statuses.ts";
import { nudge } from "../../../../control/reconciler.ts";
import { findNumber } from "../../../../control/services/replicas/store.ts";
import type { Replica } from "../../../../control/services/schema.ts";
import { findLiveService } from "../../../../control/services/store.ts";
import { until } from "../../../helpers/agent.ts";
import type { FakeAgent } from "../../../helpers/fake-agent.ts";
import { testWorld, type WorldOptions } from "../../../helpers/world.ts";
import { type JobBed, jobBedOf } from "../../jobs/bed.ts";

/** The document of a pool; its workers are set up by what a test says. */
export const aPool = (section = "workers: 2", rest = ""): string =>
  `pool: {${section}}\nsetup: prepare\n${rest}`;

/** A control plane with a pool named `warm`. */
export interface PoolBed extends JobBed {
  apply(input?: Partial<GivenInputOf<typeof rows.apply>>): Promise<null>;
  down(more?: Partial<GivenInputOf<typeof rows.down>>): Promise<null>;
  record(): Promise<ServiceStatusRecord>;
  worker(number: number): Promise<Replica>;
  untilWorker(number: number, ...statuses: ReplicaStatus[]): Promise<Replica>;
  agentOf(number: number): Promise<FakeAgent>;
  /** Has the setup of workers succeed. */
  setUp(...numbers: number[]): Promise<void>;
  /** Launches a job in the pool; answers its number. */
  submit(task?: string): Promise<number>;
  /** Has the pool looked at, now. */
  lookAtPool(): Promise<void>;
  /** The same after control was killed. */
  crash(): Promise<PoolBed>;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/** Opens one whose pool is not applied yet. */
export const poolBed = async (t: Cleaner, options: WorldOptions = {}): Promise<PoolBed> =>
  bedOf(jobBedOf(await testWorld(t, options)));

/** As `poolBed`, with workers that are set up. */
export async function withPool(
  t: Cleaner,
  task = aPool(),
  options?: WorldOptions,
): Promise<PoolBed> {
  const bed = await poolBed(t, options);
  await bed.apply({ task });
  const { target_num_replicas: workers } = await bed.record();
  await bed.setUp(...Array.from({ length: workers ?? 0 }, (_, at) => at + 1));
  return bed;
}

/** Runs on a worker of its own. */
export const work = "name: train\nrun: train";

function bedOf(jobBed: JobBed): PoolBed {
  const { world } = jobBed;
  const { ctx, provider } = world;
  const idOf = async () =>
    (await findLiveService(ctx.db, "warm"))?.id ?? assert.fail("there is no pool");
  const bed: PoolBed = {
    ...jobBed,
    apply: (input = {}) =>
      world.run(rows.apply, { task: aPool(), pool_name: "warm", mode: "rolling", ...input }),
    down: (more = {}) => world.run(rows.down, { pool_names: "warm", ...more }),
    async record() {
      const [record] = await world.run(rows.status, { pool_names: "warm" });
      return record ?? assert.fail("there is no pool");
    },
    async worker(number) {
      const worker = await findNumber(ctx.db, await idOf(), number);
      return worker ?? assert.fail(`there is no worker ${number}`);
    },
    async untilWorker(number, ...statuses) {
      const id = await idOf();
      return until(async () => {
        const worker = await findNumber(ctx.db, id, number);
        return worker !== undefined && statuses.includes(worker.status) ? worker : undefined;
      });
    },
    async agentOf(number) {
      return provider.agentOf((await bed.worker(number)).id);
    },
    async setUp(...numbers) {
      for (const number of numbers) {
        await bed.untilWorker(number, "STARTING");
        (await bed.agentOf(number)).end(1, "SUCCEEDED");
        await bed.untilWorker(number, "READY");
      }
    },
    async submit(task = work) {
      const { job_id } = await world.run(jobs.launch, { task, name: null, pool: "warm" });
      return job_id?.[0] ?? assert.fail("no job was submitted");
    },
    lookAtPool: async () => nudge(ctx, "service", await idOf()),
    crash: async () => bedOf(jobBedOf(await world.crash())),
  };
  return bed;
}
