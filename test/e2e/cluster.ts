import type { GivenInputOf, OutputOf } from "../../common/operation.ts";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import type { JobStatus } from "../../contract/statuses.ts";
import { until } from "../helpers/agent.ts";
import type { TestControl } from "../helpers/programs.ts";

type Rows = typeof rows;
type Given<Name extends keyof Rows> = Omit<GivenInputOf<Rows[Name]>, "cluster_name" | "task">;
type Result<Name extends keyof Rows> = Promise<OutputOf<Rows[Name]>>;

/** One cluster of a control plane, spoken to as a client would. */
export interface TestCluster {
  readonly name: string;
  /** Runs a task; the id of its job. */
  launch(task: string, more?: Given<"launch">): Promise<number>;
  exec(task: string): Promise<number>;
  stop(): Result<"stop">;
  start(): Result<"start">;
  down(): Result<"down">;
  cancel(...ids: number[]): Result<"cancel">;
  queue(): Result<"queue">;
  /** As `/status` shows it; undefined when there is none. */
  status(): Promise<string | undefined>;
  /** Waits until the cluster has a status; undefined is gone. */
  untilStatus(wanted: string | undefined): Promise<void>;
  jobStatus(id: number): Promise<JobStatus | null>;
  untilJob(id: number, ...statuses: JobStatus[]): Promise<void>;
  /** Follows the log of a job to its end; says when it begins to come. */
  follow(
    id: number,
    more?: { tail?: number; follow?: boolean },
    begins?: () => void,
  ): Promise<Followed>;
}

export interface Followed {
  readonly code: number;
  readonly text: string;
}

/** The cluster of this name, whether it is there or not. */
export function clusterOf({ client }: Pick<TestControl, "client">, name: string): TestCluster {
  const of = { cluster_name: name };
  const cluster: TestCluster = {
    name,
    launch: async (task, more = {}) =>
      jobIdOf(await client.callAndGet(rows.launch, { ...of, task, ...more })),
    exec: async (task) => jobIdOf(await client.callAndGet(rows.exec, { ...of, task })),
    stop: () => client.callAndGet(rows.stop, of),
    start: () => client.callAndGet(rows.start, of),
    down: () => client.callAndGet(rows.down, of),
    cancel: (...ids) => client.callAndGet(rows.cancel, { ...of, job_ids: ids }),
    queue: () => client.callAndGet(rows.queue, { ...of, all_users: true }),
    async status() {
      const found = await client.callAndGet(rows.status, { cluster_names: [name] });
      return found[0]?.status;
    },
    async untilStatus(wanted) {
      await until(async () => ((await cluster.status()) === wanted ? true : undefined));
    },
    async jobStatus(id) {
      const found = await client.callAndGet(rows.jobStatus, { ...of, job_ids: [id] });
      return found[String(id)] ?? null;
    },
    async untilJob(id, ...statuses) {
      await until(async () => {
        const status = await cluster.jobStatus(id);
        return status !== null && statuses.includes(status) ? status : undefined;
      });
    },
    async follow(id, more = {}, begins = () => {}) {
      const chunks: Buffer[] = [];
      const write = (bytes: Buffer) => {
        begins();
        chunks.push(bytes);
      };
      const sink = { write, control() {} };
      const code = await client.logs(rows.logs, { ...of, job_id: id, ...more }, sink);
      return { code, text: Buffer.concat(chunks).toString() };
    },
  };
  return cluster;
}

function jobIdOf({ job_id: id }: { job_id: number | null }): number {
  if (id === null) throw new Error("no job was submitted");
  return id;
}

/** A task that runs a script. */
export const aTask = (run: string, more: object = {}): string =>
  JSON.stringify({ name: "t", run, ...more });
