import assert from "node:assert/strict";
import { pino } from "pino";
import { operations as rows } from "../../contract/api.ts";
import { clusters } from "../../control/clusters/reconcile.ts";
import { type Config, readConfig } from "../../control/config.ts";
import type { Context } from "../../control/context.ts";
import { buildServer } from "../../control/http/server.ts";
import { jobCallbacks } from "../../control/jobs/callbacks/reconcile.ts";
import { managedJobs } from "../../control/jobs/reconcile.ts";
import { closeContext, openContext } from "../../control/open.ts";
import { operations } from "../../control/operations.ts";
import { type Reconciling, startReconciler } from "../../control/reconciler.ts";
import { openRequests } from "../../control/requests/run.ts";
import { services } from "../../control/services/reconcile.ts";
import { replicas } from "../../control/services/replicas/reconcile.ts";
import type { FakeBalancers } from "./fake-balancers.ts";
import type { FakeProvider } from "./fake-provider.ts";
import { type HttpClient, openHttpClient } from "./http-client.ts";

/** A control plane that runs in this process, as `control/main.ts` starts it. */
export interface StartedControl {
  readonly ctx: Context;
  readonly home: string;
  readonly provider: FakeProvider;
  readonly client: HttpClient;
  /** A client that sends these headers with each call. */
  clientWith(headers: Record<string, string>): HttpClient;
  readonly reconciling: Reconciling;
  /** What it logged, a line each. */
  readonly logged: string[];
  /** Moves its clock. */
  advance(ms: number): void;
  /** Sets the clock that people read; no time passes. */
  setClock(byMs: number): void;
  /** Ends it; the second time does nothing. */
  close(): Promise<void>;
}

export interface StartOptions {
  readonly config?: Partial<Config>;
  /** Leaves the requests in their queues. */
  readonly queuesClosed?: boolean;
  /** In the place of real ones. */
  readonly balancers?: FakeBalancers;
  /** How far its clock is ahead at its start. */
  readonly aheadMs?: number;
  /** A bug of ours is expected in the log. */
  readonly mayFail?: boolean;
}

/** Rows are looked at when something happens to them, and seldom otherwise. */
const everyMs = 60_000;
/** As pino numbers levels. */
const errorLevel = 50;

/** Starts a control plane on a home; it listens on a Unix socket beside it. */
export async function startControl(
  home: string,
  provider: FakeProvider,
  { config = {}, queuesClosed = false, mayFail = false, aheadMs = 0, balancers }: StartOptions,
): Promise<StartedControl> {
  const logged: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void logged.push(line) });
  let skewMs = aheadMs;
  let setMs = 0;
  const steadyNow = () => Date.now() + skewMs;
  const now = () => new Date(steadyNow() + setMs);
  const settings = {
    ...readConfig({ OUTRIGGER_HOME: home }),
    localUserName: "local",
    ...config,
  };
  const balanced = balancers && { balancers: balancers.open((): Context => ctx) };
  const ctx: Context = await openContext(settings, log, {
    providers: [provider],
    ...{ now, steadyNow },
    ...balanced,
  });
  const reconciling = startReconciler(ctx, { ...clusters, everyMs });
  const others = [services, replicas, managedJobs, jobCallbacks].map((noun) =>
    startReconciler(ctx, { ...noun, everyMs }),
  );
  const requests = await openRequests(ctx, operations);
  const server = buildServer(ctx, rows, operations);
  await server.listen({ path: `${home}.sock` });
  if (!queuesClosed) requests.start();
  const clients: HttpClient[] = [];
  const clientWith = (headers: Record<string, string> = {}) => {
    const client = openHttpClient(`${home}.sock`, headers);
    clients.push(client);
    return client;
  };
  const client = clientWith();

  async function stop(): Promise<void> {
    await Promise.all(clients.map((one) => one.close()));
    await server.close();
    await requests.stop();
    await Promise.all([reconciling, ...others].map((noun) => noun.stop()));
    await closeContext(ctx);
    const bugs = logged.filter((line) => JSON.parse(line).level >= errorLevel);
    if (!mayFail) assert.deepEqual(bugs, [], "control logged a bug of ours");
  }

  let stopped: Promise<void> | undefined;
  return {
    ...{ ctx, home, provider, client, clientWith, reconciling, logged },
    advance(ms) {
      skewMs += ms;
    },
    setClock(byMs) {
      setMs += byMs;
    },
    close() {
      stopped ??= stop();
      return stopped;
    },
  };
}
