import assert from "node:assert/strict";
import { join } from "node:path";
import type { OutputOf } from "../../common/operation.ts";
import { serveOperations as rows } from "../../contract/operations/serve.ts";
import type { ReplicaInfo, ServiceStatusRecord } from "../../contract/records/services.ts";
import { until } from "../helpers/agent.ts";
import { type ModelClient, openModelClient } from "../helpers/model-client.ts";
import { type Answers, type kinds, type Load, startLoad } from "../helpers/model-load.ts";
import { commandOf, listNodeHomes, processesOf, type TestControl } from "../helpers/programs.ts";
import { mainOf } from "../helpers/tested.ts";

type Rows = typeof rows;
type Result<Name extends keyof Rows> = Promise<OutputOf<Rows[Name]>>;

/** One service of a control plane, spoken to as clients would. */
export interface TestService {
  readonly name: string;
  /** Brings it up; its address, where nothing may be ready yet. */
  up(task: string): Promise<string>;
  update(task: string, mode?: "rolling" | "blue_green"): Result<"update">;
  terminate(replica: number, purge?: boolean): Result<"terminateReplica">;
  down(): Result<"down">;
  /** As `/serve/status` shows it; undefined when there is none. */
  status(): Promise<ServiceStatusRecord | undefined>;
  /** Waits until its record is so. */
  until(isSo: (record: ServiceStatusRecord) => boolean): Promise<ServiceStatusRecord>;
  /** Waits until so many replicas of a version are ready, and there are no others but failed ones. */
  untilReady(count: number, version?: number): Promise<ReplicaInfo[]>;
  /** The log of a part of it as it is now. */
  log(target: "controller" | "load_balancer" | "replica", replica?: number): Promise<string>;
}

/** The service of this name, whether it is there or not. */
export function serviceOf({ client }: Pick<TestControl, "client">, name: string): TestService {
  const of = { service_name: name };
  const service: TestService = {
    name,
    up: async (task) => (await client.callAndGet(rows.up, { ...of, task }))[1],
    update: (task, mode = "rolling") => client.callAndGet(rows.update, { ...of, task, mode }),
    terminate: (id, purge = false) =>
      client.callAndGet(rows.terminateReplica, { ...of, replica_id: id, purge }),
    down: () => client.callAndGet(rows.down, { service_names: name }),
    status: async () => (await client.callAndGet(rows.status, { service_names: name }))[0],
    until: (isSo) =>
      until(async () => {
        const record = await service.status();
        return record !== undefined && isSo(record) ? record : undefined;
      }),
    async untilReady(count, version = 1) {
      const isSo = ({ replica_info }: ServiceStatusRecord) => {
        const live = replica_info.filter(({ status }) => !status.startsWith("FAILED"));
        const ready = live.filter((one) => one.status === "READY" && one.version === version);
        return live.length === count && ready.length === count;
      };
      const { replica_info } = await service.until(isSo);
      return replica_info.filter(({ status }) => status === "READY");
    },
    async log(target, replica) {
      const chunks: Buffer[] = [];
      const sink = { write: (bytes: Buffer) => void chunks.push(bytes), control() {} };
      const more = replica !== undefined && { replica_id: replica };
      await client.logs(rows.logs, { ...of, target, follow: false, ...more }, sink);
      return Buffer.concat(chunks).toString();
    },
  };
  return service;
}

/** What model servers ask for; in two pieces, so that no file of ours holds it. */
export const key = ["sesame", "open-4711"].join("-");

const fixtures = join(import.meta.dirname, "../fixtures");

/** How the model servers are started. */
export const servers = {
  node: `exec ${process.execPath} ${join(fixtures, "model-server.mjs")}`,
  python: `exec python3 ${join(fixtures, "model-server.py")}`,
};

/** A service of model servers, as its document. */
export interface ServiceTask {
  /** What it calls itself. */
  readonly model?: string;
  readonly run?: string;
  readonly probe?: object;
  readonly service?: object;
  readonly more?: object;
}

/** The document of a service that is asked often whether it is ready. */
export const aService = (
  { ports }: Pick<TestControl, "ports">,
  { model = "v1", run = servers.node, probe = {}, service = {}, more = {} }: ServiceTask = {},
): string =>
  JSON.stringify({
    resources: { infra: "local", ports: ports.document },
    envs: { MODEL: model },
    secrets: { API_KEY: key },
    service: {
      readiness_probe: {
        path: "/health",
        headers: { Authorization: "Bearer $API_KEY" },
        interval_seconds: 0.1,
        ...probe,
      },
      replicas: 2,
      ...service,
    },
    run,
    ...more,
  });

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/** A client with the right key that trusts these certificates; closed with the test. */
export function clientOf(t: Cleaner, endpoint: string, ...ca: string[]): ModelClient {
  const client = openModelClient(endpoint, key, ca);
  t.after(() => client.close());
  return client;
}

/** Sends requests until work is done, and further until some more were answered; none may fail. */
export async function unharmed(
  client: ModelClient,
  of: keyof typeof kinds,
  work: (load: Load) => Promise<unknown>,
): Promise<Answers> {
  const load = startLoad(client, 40, of);
  try {
    await untilAnswered(load, 10);
    await work(load);
    await untilAnswered(load, 10);
  } finally {
    await load.stop();
  }
  assert.deepEqual(load.failed.slice(0, 20), [], `${load.failed.length} failed`);
  return load;
}

/** Waits until so many more requests were answered; does not wait for what cannot come any more. */
export async function untilAnswered({ answered, failed }: Load, more: number): Promise<void> {
  const enough = answered.length + more;
  await until(() => answered.length >= enough || failed.length > 0 || undefined);
}

/** A stream that is begun, and goes on until a file is there; `whole` is how many tokens came. */
export function openStream(client: ModelClient, gate: string) {
  const { promise: begun, resolve, reject } = Promise.withResolvers<void>();
  const read = async () => {
    let count = 0;
    for await (const _ of client.tokens(gate)) {
      count += 1;
      resolve();
    }
    return count;
  };
  const whole = read();
  whole.catch(reject);
  return { begun, whole };
}

/** Waits until somebody answers. */
export const untilAnswers = (client: ModelClient) =>
  until(() => client.who().catch(() => undefined));

/** The balancers of a control plane. */
export const balancersOf = ({ home }: Pick<TestControl, "home">): number[] =>
  processesOf(home)
    .map(({ pid }) => pid)
    .filter((pid) => commandOf(pid).includes(mainOf("balancer")));

/** Kills the only balancer, and waits for the one in its place. */
export async function endBalancer(control: TestControl): Promise<void> {
  const [before = 0, ...others] = balancersOf(control);
  assert.deepEqual(others, []);
  process.kill(before, "SIGKILL");
  await until(() => balancersOf(control).find((pid) => pid !== before));
}

/** No node is left, and no process but control. */
export function assertNothingIsLeft({ home, pid }: TestControl): void {
  assert.deepEqual(listNodeHomes(home), []);
  const left = () => processesOf(home).filter((process) => process.pid !== pid);
  assert.deepEqual(left(), []);
}
