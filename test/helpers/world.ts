import assert from "node:assert/strict";
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json, text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { Pool } from "undici";
import {
  type GivenInputOf,
  type Operation,
  type OutputOf,
  toHttpCall,
} from "../../common/operation.ts";
import { operations as rows } from "../../contract/api.ts";
import { requestOperations as requestRows } from "../../contract/operations/requests.ts";
import type { ClusterStatus } from "../../contract/statuses.ts";
import { clusters } from "../../control/clusters/reconcile.ts";
import type { Cluster } from "../../control/clusters/schema.ts";
import { findLatest } from "../../control/clusters/store.ts";
import { type Config, readConfig } from "../../control/config.ts";
import type { Context } from "../../control/context.ts";
import { listEvents } from "../../control/events.ts";
import { buildServer } from "../../control/http/server.ts";
import { closeContext, openContext } from "../../control/open.ts";
import { operations } from "../../control/operations.ts";
import { type Reconciling, startReconciler } from "../../control/reconciler.ts";
import { startRequests } from "../../control/requests/run.ts";
import { findRequest } from "../../control/requests/store.ts";
import { type FakeProvider, type FakeProviderOptions, openFakeProvider } from "./fake-provider.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

export interface HttpOptions {
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** A whole control plane in this process, over a cloud in memory. */
export interface World {
  readonly ctx: Context;
  readonly home: string;
  readonly provider: FakeProvider;
  readonly reconciling: Reconciling;
  /** What control logged, a line each. */
  readonly logged: string[];
  /** Moves the clock. */
  advance(ms: number): void;
  /** Any HTTP exchange; a text is sent as it is, anything else as JSON. */
  http(method: string, path: string, options?: HttpOptions): Promise<Answer>;
  /** The open answer of a call. */
  open(
    method: string,
    path: string,
    options?: HttpOptions,
  ): Promise<{ status: number; headers: Record<string, string>; body: AsyncIterable<Buffer> }>;
  /** Stores a request; answers its id. */
  call<Op extends Operation>(row: Op, input: GivenInputOf<Op>): Promise<string>;
  /** The result of a request; throws its error, whose `type` and `message` are the wire's. */
  get<Op extends Operation>(row: Op, id: string): Promise<OutputOf<Op>>;
  /** `call`, then `get`; a row that answers at once is answered. */
  run<Op extends Operation>(row: Op, input: GivenInputOf<Op>): Promise<OutputOf<Op>>;
  /** The newest cluster of this name. */
  cluster(name: string): Promise<Cluster>;
  /** Waits until the newest cluster of this name has the status. */
  untilStatus(name: string, status: ClusterStatus): Promise<Cluster>;
  /** Waits until an attempt to reach what is wanted of the cluster has failed. */
  untilProblem(name: string): Promise<Cluster>;
  /** Has a pass of the reconciler over the cluster, now. */
  look(name: string): Promise<void>;
  /** Waits until the record of a request says why it waits. */
  untilNote(id: string, note: RegExp): Promise<void>;
  /** How the newest cluster of this name changed: `INIT>UP`. */
  moves(name: string): Promise<string[]>;
  /** Cancels requests; answers the ids of those that had not ended. */
  cancel(...ids: string[]): Promise<string[]>;
  /** What a request printed. */
  printed(id: string): Promise<string>;
  /** The control plane as it starts anew from what now lies on disk; the nodes are the same. */
  crash(): Promise<World>;
}

export interface WorldOptions extends FakeProviderOptions {
  readonly config?: Partial<Config>;
  /** Runs a noun's passes by hand only. */
  readonly idle?: boolean;
  /** Leaves the requests in their queues until `crash`. */
  readonly queuesClosed?: boolean;
  /** A bug of ours is expected in the log. */
  readonly mayFail?: boolean;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

const patienceMs = 5_000;
/** Where a flush costs nothing, on the systems that have such a place. */
const inMemory = "/dev/shm";

/** Opens a control plane; the test fails when it logs a bug of ours or leaves something behind. */
export async function testWorld(t: Cleaner, options: WorldOptions = {}): Promise<World> {
  const folder = mkdtempSync(join(existsSync(inMemory) ? inMemory : tmpdir(), "w-"));
  const provider = openFakeProvider(folder, options);
  const closing: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of closing.reverse()) await close();
    await provider.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  });
  return openWorld({ folder, provider, options, closing }, "h0");
}

/** What a world shares with the one that starts anew after it. */
interface Ground {
  readonly folder: string;
  readonly provider: FakeProvider;
  readonly options: WorldOptions;
  readonly closing: (() => Promise<void>)[];
}

async function openWorld(ground: Ground, name: string): Promise<World> {
  const { folder, provider, options } = ground;
  const home = join(folder, name);
  const config = { ...readConfig({ OUTRIGGER_HOME: home }), ...options.config };
  const logged: string[] = [];
  let skewMs = 0;
  const log = pino({ level: "debug" }, { write: (line: string) => void logged.push(line) });
  const ctx = await openContext(config, log, {
    providers: [provider],
    now: () => new Date(Date.now() + skewMs),
  });
  const reconciling = startReconciler(ctx, { ...clusters, everyMs: 60_000 });
  const requests = options.queuesClosed ? undefined : await startRequests(ctx, operations);
  const server = buildServer(ctx, rows, operations);
  const socketPath = join(folder, `${name}.sock`);
  await server.listen({ path: socketPath });
  const pool = new Pool("http://localhost", { connect: { socketPath }, bodyTimeout: 0 });

  let closed = false;
  async function close(): Promise<void> {
    if (closed) return;
    closed = true;
    await pool.destroy();
    await server.close();
    await requests?.stop();
    await reconciling.stop();
    await closeContext(ctx);
  }
  ground.closing.push(async () => {
    await close();
    const bugs = logged.filter((line) => JSON.parse(line).level >= 50);
    if (!options.mayFail) assert.deepEqual(bugs, [], "control logged a bug of ours");
  });

  async function send(method: string, path: string, options: HttpOptions = {}) {
    const { body, headers, signal = AbortSignal.timeout(patienceMs) } = options;
    const isText = typeof body === "string" || Buffer.isBuffer(body);
    return pool.request({
      method: method as "GET",
      path,
      body: body === undefined ? null : isText ? body : JSON.stringify(body),
      headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers },
      signal,
    });
  }

  async function sendRow<Op extends Operation>(row: Op, input: GivenInputOf<Op>) {
    const { method, path, body } = toHttpCall(row, input as Record<string, unknown>);
    const answer = await send(method, path, body === undefined ? {} : { body });
    if (answer.statusCode === 200) return answer;
    const { detail, type } = (await answer.body.json()) as { detail: unknown; type: string };
    throw wireError(type, typeof detail === "string" ? detail : JSON.stringify(detail));
  }

  /** Looks again and again; some of what tests wait for tells nobody. */
  async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
    for (const end = Date.now() + patienceMs; Date.now() < end; await sleep(2)) {
      const found = await look();
      if (found !== undefined) return found;
    }
    return assert.fail(`waited ${patienceMs} ms in vain for ${look}`);
  }

  const untilCluster = (name: string, isSo: (cluster: Cluster) => boolean) =>
    until(async () => {
      const cluster = await findLatest(ctx.db, name);
      return cluster !== undefined && isSo(cluster) ? cluster : undefined;
    });

  const world: World = {
    ctx,
    home,
    provider,
    reconciling,
    logged,
    advance(ms) {
      skewMs += ms;
    },
    async http(method, path, options) {
      const answer = await send(method, path, options);
      const content = await answer.body.text();
      return {
        status: answer.statusCode,
        headers: answer.headers as Record<string, string>,
        text: content,
        get json() {
          return JSON.parse(content);
        },
      };
    },
    async open(method, path, options) {
      const { statusCode: status, headers, body } = await send(method, path, options);
      return { status, headers: headers as Record<string, string>, body };
    },
    async call(row, input) {
      const { headers, body } = await sendRow(row, input);
      await body.dump();
      return String(headers["x-outrigger-request-id"]);
    },
    async get(_row, id) {
      const answer = await send("GET", `/api/get?request_id=${id}`);
      const record = (await json(answer.body)) as Record<string, string>;
      const error = JSON.parse(record["error"] ?? "null");
      if (error !== null) throw wireError(error.type, error.message);
      if (record["status"] === "CANCELLED") throw wireError("RequestCancelled", "cancelled");
      return JSON.parse(record["return_value"] ?? "null");
    },
    async run(row, input) {
      if (row.mode === "async") return world.get(row, await world.call(row, input));
      return (await sendRow(row, input)).body.json() as never;
    },
    async cluster(name) {
      const found = await findLatest(ctx.db, name);
      return found ?? assert.fail(`there was no cluster ${name}`);
    },
    untilStatus: (name, status) => untilCluster(name, (now) => now.status === status),
    untilProblem: (name) => untilCluster(name, ({ problem }) => problem !== null),
    look: async (name) => reconciling.nudge((await world.cluster(name)).id),
    async untilNote(id, note) {
      await until(
        async () => note.test((await findRequest(ctx.db, id))?.statusNote ?? "") || undefined,
      );
    },
    async moves(name) {
      const { id } = await world.cluster(name);
      const events = await listEvents(ctx.db, "cluster", id, { kind: "moves", limit: 100 });
      return events.map(({ from, to }) => `${from}>${to}`);
    },
    cancel: (...ids) => world.run(requestRows.cancel, { request_ids: ids }),
    async printed(id) {
      const { body } = await send("GET", `/api/stream?request_id=${id}&follow=false`);
      return text(body);
    },
    async crash() {
      cpSync(home, join(folder, `${name}x`), { recursive: true });
      await close();
      return openWorld({ ...ground, options: { ...options, queuesClosed: false } }, `${name}x`);
    },
  };
  return world;
}

/** An error as the wire tells it. */
export const wireError = (type: string, message: string): Error =>
  Object.assign(new Error(message), { type });
