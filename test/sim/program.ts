import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import { AppError, isErrorType } from "../../common/errors.ts";
import type { InputOf, Operation } from "../../common/operation.ts";
import type { Bound, LogReply } from "../../control/bind.ts";
import { collectClusters, collectLifecycles } from "../../control/clusters/collect.ts";
import { lateNodes } from "../../control/clusters/late-nodes.ts";
import { clusters } from "../../control/clusters/reconcile.ts";
import { readConfig } from "../../control/config.ts";
import type { Context } from "../../control/context.ts";
import { callbacksBy } from "../../control/jobs/callbacks/reconcile.ts";
import type { runScript } from "../../control/jobs/callbacks/script.ts";
import { collectJobs } from "../../control/jobs/collect.ts";
import { managedJobs } from "../../control/jobs/reconcile.ts";
import { closeContext, openContext } from "../../control/open.ts";
import { operations } from "../../control/operations.ts";
import type { Provider } from "../../control/providers/provider.ts";
import { type Reconciler, startReconciler } from "../../control/reconciler.ts";
import { collectReads, collectRequests } from "../../control/requests/collect.ts";
import { findEnded } from "../../control/requests/find.ts";
import { dropPassing } from "../../control/requests/passing.ts";
import { openRequests, queueOf, runNow, submit } from "../../control/requests/run.ts";
import { requestKey } from "../../control/requests/schema.ts";
import { openBalancers } from "../../control/services/balancing/balancers.ts";
import type { Processes } from "../../control/services/balancing/process.ts";
import { collectServices } from "../../control/services/collect.ts";
import { services } from "../../control/services/reconcile.ts";
import { replicas } from "../../control/services/replicas/reconcile.ts";
import { aCaller } from "../helpers/callers.ts";
import { connect } from "./database.ts";

/** A control plane in this process, as `control/main.ts` starts it; calls come without HTTP. */
export interface Program {
  readonly ctx: Context;
  /** Stores a request and has its queue work on it; resolves with its id. */
  call(operation: string, user: string, input: Record<string, unknown>): Promise<string>;
  /** As `call`, of an operation that changes nothing; resolves with what a client gets of it. */
  read(operation: string, user: string, input: Record<string, unknown>): Promise<unknown>;
  /** Forgets what is old. */
  collect(): Promise<void>;
  /** Ends it in order. */
  stop(): Promise<void>;
}

/** As pino numbers levels. */
const levels = { error: 50 };

/** That there is no room, or that another one has taken over, is said loudly, and is no bug. */
const isBug = ({ level, err }: { level: number; err?: { stack?: string } }): boolean =>
  level >= levels.error && !/^(DiskFullError|LeaseLostError)/.test(err?.stack ?? "");

/** What is heard of a program before it takes calls, and later. */
interface Heard {
  opened(ctx: Context): void;
  /** It logs a bug of its own. */
  failed(line: string): void;
  /** A pass over a task of a managed job went well. */
  passed(id: string): void;
}

/** What is there beside control, and outlives it. */
export interface Outside {
  readonly provider: Provider;
  /** The processes of balancers. */
  readonly processes: Processes;
  /** Runs the scripts of users. */
  readonly runScript: typeof runScript;
}

/** Makes a home with an empty database. */
export async function makeHome(home: string): Promise<void> {
  const ctx = await openContext(readConfig({ OUTRIGGER_HOME: home }), pino({ level: "silent" }), {
    connection: connect(),
  });
  await closeContext(ctx);
}

/** What is over is forgotten almost at once. */
const retention = { requestRetentionHours: 0.01, clusterHistoryDays: 0 };
/** Few managed jobs are enough for some to wait. */
export const jobLimits = { managedJobsAtMost: 2, jobLaunchesAtOnce: 1 };
/** Those of rows; the others are about files. */
const collectors = [
  ...[collectReads, dropPassing, collectRequests],
  ...[collectClusters, collectLifecycles, collectServices, collectJobs],
];

/** Starts control on a home. */
export async function startProgram(
  home: string,
  { provider, processes, runScript }: Outside,
  { opened, failed, passed }: Heard,
): Promise<Program> {
  const write = (line: string) => isBug(JSON.parse(line)) && failed(line);
  const log = pino({ level: "error" }, { write });
  const config = { ...readConfig({ OUTRIGGER_HOME: home }), ...retention, ...jobLimits };
  const balancers = openBalancers(() => ctx, undefined, processes);
  const ctx: Context = await openContext(config, log, {
    ...{ providers: [provider], balancers, connection: connect() },
  });
  opened(ctx);
  const requests = await openRequests(ctx, operations);
  const jobs: Reconciler = {
    ...managedJobs,
    reconcile: (of, id, ...given) => managedJobs.reconcile(of, id, ...given).then(() => passed(id)),
  };
  const nouns = [clusters, lateNodes, services, replicas, jobs, callbacksBy(runScript)];
  const reconciling = nouns.map((noun) => startReconciler(ctx, noun));
  requests.start();
  let collecting = Promise.resolve();
  return {
    ctx,
    call: (operation, user, given) => store(ctx, boundOf(operation), user, given),
    read: (operation, user, given) => read(ctx, boundOf(operation), user, given),
    collect() {
      collecting = collecting.catch(() => {}).then(() => collectAll(ctx));
      return collecting;
    },
    async stop() {
      await requests.stop();
      await collecting.catch(() => {});
      await Promise.all(reconciling.map((noun) => noun.stop()));
      await closeContext(ctx);
    },
  };
}

async function collectAll(ctx: Context): Promise<void> {
  for (const one of collectors) await one(ctx);
}

function boundOf(name: string): Bound {
  const bound = operations.find(({ row }) => row.name === name);
  if (bound === undefined) throw new Error(`there is no operation ${name}`);
  return bound;
}

async function store(ctx: Context, { row, check }: Bound, user: string, given: object) {
  const input = row.input.body?.parse(given) as InputOf<Operation>;
  check?.(input as never);
  const id = await submit(ctx, row, input, callerOf(user));
  ctx.queues.push(queueOf(row), id);
  return id;
}

const callerOf = (user: string) => ({
  ...aCaller({ user: { id: user, name: user } }),
  program: "sim",
});

async function read(ctx: Context, bound: Bound, user: string, given: object): Promise<unknown> {
  if (bound.row.mode === "log") return readLog(ctx, bound, user, given);
  const id = await store(ctx, bound, user, given);
  const look = () => findEnded(ctx, id);
  const ended = await ctx.changes.until(requestKey(id), look, new AbortController().signal);
  if (ended.failure === null) return JSON.parse(ended.returnValue ?? "null");
  const { type, message } = ended.failure;
  throw new AppError(isErrorType(type) ? type : "InternalError", message);
}

/** As the HTTP edge does, to the last byte. */
async function readLog(ctx: Context, bound: Bound, user: string, given: object): Promise<string> {
  const input = bound.row.input.body?.parse(given) as InputOf<Operation>;
  const { signal } = new AbortController();
  const direct = { id: randomUUID(), input, caller: callerOf(user), signal };
  const reply = (await runNow(ctx, bound, direct)) as LogReply;
  const printed = reply.body instanceof Readable ? await text(reply.body) : (reply.body ?? "");
  await reply.exitCode();
  return printed;
}
