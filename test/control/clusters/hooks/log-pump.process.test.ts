import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { openChanges } from "../../../../common/changes.ts";
import { AppError } from "../../../../common/errors.ts";
import { agentOperations as api } from "../../../../contract/agent-api.ts";
import { copyFileOf } from "../../../../control/clusters/hooks/log-copy.ts";
import { fetchHookLogs, openHookLogPump } from "../../../../control/clusters/hooks/log-pump.ts";
import { openRounds } from "../../../../control/clusters/repeating-work.ts";
import type { Cluster } from "../../../../control/clusters/schema.ts";
import type { Agent } from "../../../../control/doors/agent.ts";
import { copyStateOf } from "../../../../control/log-copy.ts";
import { until } from "../../../helpers/agent.ts";
import { testWorld } from "../../../helpers/world.ts";

/** A node with one lifecycle, whose stop hooks wrote something. */
interface Node {
  id: string;
  text: string;
  isOver: boolean;
  /** It waits for whoever fetches the logs. */
  isReady: boolean;
  /** Bytes that the node has not got any more. */
  gap: { from: number; to: number } | undefined;
  /** Errors that its next answers are. */
  readonly failures: AppError[];
  /** The rows it was called with, and from which byte its log was read. */
  readonly calls: string[];
  write(text: string): void;
  end(): void;
}

const away = () => new AppError("UnreachableError", "the agent does not answer");

/** A node, the world with it for an agent, and the file that its log is copied to. */
async function withNode(t: TestContext) {
  const world = await testWorld(t);
  const changes = openChanges();
  const node: Node = {
    ...{
      id: "l1",
      text: "",
      isOver: false,
      isReady: false,
      gap: undefined,
      failures: [],
      calls: [],
    },
    write(text) {
      node.text += text;
      changes.notify("log");
    },
    end() {
      node.isOver = true;
      changes.notify("log");
    },
  };
  const lifecycle = () => ({
    id: node.id,
    status: node.isReady ? "READY" : "HOOKS",
    runs: [],
    logs: [{ event: "stop", sizeBytes: node.isOver ? node.text.length : 0, isOver: node.isOver }],
  });
  async function* bytesFrom(offset: number, signal: AbortSignal) {
    for (let at = offset; ; ) {
      const isBefore = node.gap !== undefined && at <= node.gap.from;
      const end = isBefore && node.gap ? node.gap.from : node.text.length;
      if (end > at) yield Buffer.from(node.text.slice(at, end));
      at = end;
      if (isBefore || node.isOver) return;
      const look = async () => node.isOver || node.text.length > at || undefined;
      await changes.until("log", look, signal);
    }
  }
  const fails = (name: string) => {
    node.calls.push(name);
    const failure = node.failures.shift();
    if (failure !== undefined) throw failure;
  };
  const agent: Agent = {
    async call({ name }) {
      fails(name);
      return (name === "listLifecycles" ? [lifecycle()] : lifecycle()) as never;
    },
    async open(_row, input, signal) {
      const from = Number((input as { offset?: number }).offset);
      fails(`read ${from}`);
      const start = node.gap && from >= node.gap.from && from < node.gap.to ? node.gap.to : from;
      const body = Readable.from(bytesFrom(start, signal));
      return { headers: { "log-offset": String(start) }, body };
    },
  };
  const ctx = { ...world.ctx, agent: () => agent };
  const cluster = { id: "c1", nodes: 1 } as Cluster;
  const name = { clusterId: "c1", lifecycleId: "l1", event: "stop", rank: 0 } as const;
  return { ctx, node, cluster, file: copyFileOf(ctx, name) };
}

const textOf = (file: string) => readFile(file, "utf8");
const untilText = (file: string, wanted: string) =>
  until(async () => (existsSync(file) && (await textOf(file)) === wanted ? true : undefined));
const untilWhole = (file: string) =>
  until(async () => (await copyStateOf(file)).isWhole || undefined);

/** Opens the pump; what is returned ends it and waits for that. */
function pump(t: TestContext, { ctx, cluster }: Awaited<ReturnType<typeof withNode>>) {
  const abort = new AbortController();
  const { signal } = abort;
  const opened = openHookLogPump(ctx, cluster, 0, signal);
  const list = () => ctx.agent().call(api.listLifecycles, {}, { signal });
  const rounds = openRounds(
    async () => opened.copy(await list()),
    () => {},
    signal,
  );
  const done = async () => {
    await rounds.done();
    await opened.done();
  };
  const stop = async () => {
    abort.abort();
    await done();
  };
  t.after(stop);
  return { sync: rounds.sync, done, stop };
}

test("a log is copied while it grows, and goes on where a control that ended left it", async (t) => {
  const world = await withNode(t);
  const { node, file } = world;
  node.write("one\n");
  const first = pump(t, world);
  first.sync();
  await untilText(file, "one\n");
  node.write("two\n");
  await untilText(file, "one\ntwo\n");
  await first.stop();
  node.write("three\n");

  pump(t, world).sync();
  await untilText(file, "one\ntwo\nthree\n");
  assert.equal((await copyStateOf(file)).isWhole, false);
  node.end();
  await untilWhole(file);

  assert.deepEqual(
    node.calls.filter((call) => call.startsWith("read")),
    ["read 0", "read 8"],
  );
});

test("a log that is whole is not read again, unless it has begun again", async (t) => {
  const world = await withNode(t);
  const { node, file } = world;
  node.write("one\n");
  node.end();
  const { sync } = pump(t, world);
  sync();
  await untilWhole(file);
  sync();
  await until(() => node.calls.filter((name) => name === "listLifecycles").length > 1 || undefined);
  assert.equal(node.calls.filter((call) => call.startsWith("read")).length, 1);

  node.write("two\n");
  sync();

  await untilText(file, "one\ntwo\n");
});

test("a node that is ready to go hears once that its logs are here", async (t) => {
  const world = await withNode(t);
  const { node, file } = world;
  const { sync, done } = pump(t, world);
  const count = (name: string) => node.calls.filter((call) => call === name).length;
  node.write("one\n");
  node.end();
  sync();
  await untilWhole(file);
  assert.equal(count("confirmLogs"), 0);

  node.isReady = true;
  sync();
  await until(() => count("confirmLogs") > 0 || undefined);
  await done();
  sync();
  await done();

  assert.equal(count("listLifecycles"), 3);
  assert.equal(count("confirmLogs"), 1);
});

test("an agent that fails is asked again from where the copy ends", async (t) => {
  const world = await withNode(t);
  const { node, file } = world;
  node.failures.push(away(), away(), away());
  node.write("one\n");
  node.end();

  pump(t, world).sync();

  await untilWhole(file);
  assert.equal(await textOf(file), "one\n");
});

test("what the node left out is left out, and what comes after lies where it belongs", async (t) => {
  const world = await withNode(t);
  const { node, file } = world;
  node.write("0123456789");
  node.gap = { from: 2, to: 7 };
  node.end();

  pump(t, world).sync();
  await untilWhole(file);

  assert.equal((await textOf(file)).replaceAll("\0", "."), "01.....789");
  assert.deepEqual((await copyStateOf(file)).gap, node.gap);
});

test("a node does not choose where its logs are written", async (t) => {
  const world = await withNode(t);
  const { node, ctx } = world;
  node.id = "../../../evil";
  node.write("one\n");
  node.end();

  pump(t, world).sync();
  await until(() => node.calls.includes("listLifecycles") || undefined);
  await fetchHookLogs(ctx, world.cluster, 0, node.id, AbortSignal.timeout(60_000));

  assert.deepEqual(
    node.calls.filter((call) => call.startsWith("read")),
    [],
  );
});

test("fetching ends once everything is here, and the node hears of it", async (t) => {
  const { ctx, node, cluster, file } = await withNode(t);
  node.write("one\n");
  node.end();

  await fetchHookLogs(ctx, cluster, 0, "l1", AbortSignal.timeout(60_000));

  assert.equal(await textOf(file), "one\n");
  assert.equal((await copyStateOf(file)).isWhole, true);
  assert.equal(node.calls.at(-1), "confirmLogs");
});

test("fetching fails when the node is away, or does not come to an end", async (t) => {
  const { ctx, node, cluster } = await withNode(t);
  const late = new AbortController();
  const fetching = fetchHookLogs(ctx, cluster, 0, "l1", late.signal);
  await until(() => node.calls.includes("read 0") || undefined);
  late.abort(new AppError("TimeoutError", "too late"));
  await assert.rejects(fetching);

  node.failures.push(away());
  const signal = AbortSignal.timeout(60_000);
  await assert.rejects(fetchHookLogs(ctx, cluster, 0, "l1", signal), { type: "UnreachableError" });
});

test("a log that cannot be copied for long is told once, and copied once it can be", async (t) => {
  const world = await withNode(t);
  const { node, file } = world;
  const warned: string[] = [];
  const warn = (_about: object, message: string) => void warned.push(message);
  Object.assign(world.ctx, { log: { debug() {}, warn } });
  node.write("one\n");
  node.isReady = true;
  node.end();
  const agent = world.ctx.agent();
  const { call } = agent;
  let isAway = true;
  world.ctx.agent = () => ({
    ...agent,
    call: (row, ...given) =>
      isAway && row.name === "getLifecycle" ? Promise.reject(away()) : call(row, ...given),
  });
  pump(t, world).sync();

  await until(() => warned.length > 0 || undefined);
  isAway = false;
  await untilText(file, "one\n");

  assert.deepEqual([...new Set(warned)], ["hook log not copied yet"]);
});
