import assert from "node:assert/strict";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { GivenInputOf, Operation, OutputOf } from "../../common/operation.ts";
import { requestOperations as requestRows } from "../../contract/operations/requests.ts";
import type { ClusterStatus } from "../../contract/statuses.ts";
import { type Attempt, findAttempt } from "../../control/attempts.ts";
import type { Cluster } from "../../control/clusters/schema.ts";
import { findLatest } from "../../control/clusters/store.ts";
import { openDatabase } from "../../control/db/open.ts";
import { listEvents } from "../../control/events.ts";
import { databaseOf } from "../../control/home.ts";
import { findRequest } from "../../control/requests/store.ts";
import type { Account } from "../../control/users/schema.ts";
import "./cheap-passwords.ts";
import { type FakeProvider, type FakeProviderOptions, openFakeProvider } from "./fake-provider.ts";
import { type HttpClient, wireError } from "./http-client.ts";
import { type StartedControl, type StartOptions, startControl } from "./started-control.ts";
import { addCaller } from "./users.ts";

/** What tests ask of a control plane over HTTP. */
export interface Calls extends Pick<HttpClient, "http" | "open"> {
  /** Stores a request; answers its id. */
  call<Op extends Operation>(row: Op, input: GivenInputOf<Op>): Promise<string>;
  /** The result of a request; throws its error, whose `type`, `message` and `details` are the wire's. */
  get<Op extends Operation>(row: Op, id: string): Promise<OutputOf<Op>>;
  /** `call`, then `get`. */
  run<Op extends Operation>(row: Op, input: GivenInputOf<Op>): Promise<OutputOf<Op>>;
  /** Cancels requests; answers the ids of those that had not ended. */
  cancel(...ids: string[]): Promise<string[]>;
  /** What a request printed so far. */
  printed(id: string): Promise<string>;
}

/** What tests look at from within. A cluster is the newest of its name. */
interface Looks {
  cluster(name: string): Promise<Cluster>;
  untilStatus(name: string, status: ClusterStatus): Promise<Cluster>;
  /** Waits until an attempt to reach what is wanted of the cluster has failed. */
  untilProblem(name: string): Promise<Cluster>;
  /** Waits until a pass over the cluster has failed after an instant. */
  untilAttempt(name: string, after: number): Promise<Attempt>;
  /** Waits until the last pass over the cluster did not fail. */
  untilWell(name: string): Promise<void>;
  /** Waits until the record of a request says why it waits. */
  untilNote(id: string, note: RegExp): Promise<void>;
  /** Has a pass of the reconciler over the cluster, now. */
  look(name: string): Promise<void>;
  /** How the cluster changed: `INIT>UP`. */
  moves(name: string): Promise<string[]>;
}

/** A whole control plane in this process, over a cloud in memory. */
export interface World extends StartedControl, Calls, Looks {
  /** The calls of a user of this name and id, who is made the first time. */
  as(name: string, given?: Partial<Account>): Promise<Calls>;
  /** The control plane as it starts anew from what now lies on disk; the nodes are the same. It was away for so long. */
  crash(awayMs?: number): Promise<World>;
}

export interface WorldOptions extends FakeProviderOptions, StartOptions {}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/** Only there to end a hang. */
const patienceMs = 120_000;
const longestPauseMs = 10;
/** Where a flush costs nothing, on the systems that have such a place. */
const inMemory = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
/** Migrations cost more than most tests: they run once for all worlds of this process. */
let emptyDatabase: Promise<Buffer> | undefined;

/** Opens a control plane; the test fails when it logs a bug of ours. */
export async function testWorld(t: Cleaner, options: WorldOptions = {}): Promise<World> {
  const folder = mkdtempSync(join(inMemory, "w-"));
  const provider = openFakeProvider(folder, options);
  const worlds: World[] = [];
  t.after(async () => {
    // The runner keeps what a test left to do until all tests have ended.
    for (const world of worlds.splice(0).reverse()) await world.close();
    await provider.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  });
  const home = join(folder, "home");
  const database = databaseOf(home);
  mkdirSync(dirname(database), { recursive: true, mode: 0o700 });
  emptyDatabase ??= makeEmptyDatabase();
  writeFileSync(database, await emptyDatabase);
  return openWorld(home, provider, options, worlds);
}

/** What lies on disk for a database without rows. */
async function makeEmptyDatabase(): Promise<Buffer> {
  const folder = mkdtempSync(join(inMemory, "d-"));
  const file = join(folder, "state.db");
  try {
    await (await openDatabase(file)).destroy();
    return readFileSync(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Every world that is opened is noted in `worlds`. */
async function openWorld(
  home: string,
  provider: FakeProvider,
  options: WorldOptions,
  worlds: World[],
): Promise<World> {
  const control = await startControl(home, provider, options);
  const callers = new Map<string, Promise<Calls>>();
  const callsAs = async (name: string, given: Partial<Account>) =>
    callsOf(control.clientWith(await addCaller(control.ctx, { ...given, name })));
  const world: World = {
    ...control,
    ...callsOf(control.client),
    ...looksOf(control),
    as(name, given = {}) {
      const calls = callers.get(name) ?? callsAs(name, given);
      callers.set(name, calls);
      return calls;
    },
    async crash(awayMs = 0) {
      cpSync(home, `${home}x`, { recursive: true });
      await control.close();
      const again = { ...options, queuesClosed: false, aheadMs: awayMs };
      return openWorld(`${home}x`, provider, again, worlds);
    },
  };
  worlds.push(world);
  return world;
}

function callsOf(client: HttpClient): Calls {
  const calls: Calls = {
    http: client.http,
    open: client.open,
    async call(row, input) {
      const { headers } = await client.send(row, input);
      return headers["x-outrigger-request-id"] ?? "";
    },
    async get(_row, id) {
      const { json } = await client.http("GET", `/api/get?request_id=${id}`);
      const error = JSON.parse(String(json["error"]));
      if (error !== null) throw wireError(error.type, error.message, error.details);
      if (json["status"] === "CANCELLED") throw wireError("RequestCancelled", "cancelled");
      return JSON.parse(String(json["return_value"]));
    },
    run: async (row, input) => calls.get(row, await calls.call(row, input)),
    cancel: (...ids) => calls.run(requestRows.cancel, { request_ids: ids }),
    printed: async (id) =>
      (await client.http("GET", `/api/stream?request_id=${id}&follow=false`)).text,
  };
  return calls;
}

function looksOf({ ctx, reconciling }: StartedControl): Looks {
  const untilCluster = (name: string, isSo: (cluster: Cluster) => boolean) =>
    until(async () => {
      const cluster = await findLatest(ctx.db, name);
      return cluster !== undefined && isSo(cluster) ? cluster : undefined;
    });
  const cluster = async (name: string) =>
    (await findLatest(ctx.db, name)) ?? assert.fail(`there was no cluster ${name}`);
  return {
    cluster,
    untilStatus: (name, status) => untilCluster(name, (now) => now.status === status),
    untilProblem: (name) => untilCluster(name, ({ problem }) => problem !== null),
    untilAttempt: (name, after) =>
      until(async () => {
        const attempt = await findAttempt(ctx.db, "cluster", (await cluster(name)).id);
        return attempt !== undefined && attempt.failedAt > after ? attempt : undefined;
      }),
    async untilWell(name) {
      const { id } = await cluster(name);
      await until(
        async () => (await findAttempt(ctx.db, "cluster", id)) === undefined || undefined,
      );
    },
    async untilNote(id, note) {
      const noteOf = async () => (await findRequest(ctx.db, id))?.statusNote ?? "";
      await until(async () => note.test(await noteOf()) || undefined);
    },
    look: async (name) => reconciling.nudge((await cluster(name)).id),
    async moves(name) {
      const { id } = await cluster(name);
      const events = await listEvents(ctx.db, "cluster", id, { kinds: ["moves"], limit: 100 });
      return events.map(({ from, to }) => `${from}>${to}`);
    },
  };
}

/** Looks again and again, ever less often; some of what tests wait for tells nobody. */
async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  const end = Date.now() + patienceMs;
  for (let pauseMs = 1; Date.now() < end; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
    const found = await look();
    if (found !== undefined) return found;
    await sleep(pauseMs);
  }
  return assert.fail(`waited ${patienceMs} ms in vain for ${look}`);
}
