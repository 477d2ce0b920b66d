import assert from "node:assert/strict";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gapLine, gapOf, hookEvents } from "../../../contract/hooks.ts";
import { startAgent, type TestAgent, text, until } from "../../helpers/agent.ts";
import {
  aHook,
  begin,
  findFile,
  hookLog,
  logOnNode,
  play,
  putHooks,
  untilStatus,
} from "../lifecycles/steps.ts";

const megabyte = 2 ** 20;
const pathOf = (agent: TestAgent, name: string) => join(agent.home, ".outrigger/hooks", name);

/** The whole of a log as a reader gets it who asks again behind what was left out. */
async function readAll(agent: TestAgent, id: string): Promise<{ at: number; bytes: Buffer }[]> {
  const pieces: { at: number; bytes: Buffer }[] = [];
  for (let offset = 0; ; ) {
    const { headers, body } = await agent.open("readHookLog", { id, event: "stop", offset });
    const at = Number(headers["log-offset"]);
    const bytes = Buffer.concat(await body.toArray());
    if (bytes.length === 0) return pieces;
    pieces.push({ at, bytes });
    offset = at + bytes.length;
  }
}

test("100 MB of output cost no memory and little disk, and keep their first and last lines", async (t) => {
  const agent = await startAgent(t);
  const size = 100_000_000 - 1;
  const line = `yes ${"x".repeat(99)} | head -c ${size}; until [ -e ~/go ]; do sleep 0.05; done`;
  await putHooks(agent, [aHook(`echo first; ${line}; echo last`)]);
  const before = memoryOf(agent);
  const begun = await begin(agent, "stop");
  const path = pathOf(agent, "stop.log");
  await until(() => (sizeOf(path) === 6 + size ? true : undefined));
  await until(() => (diskOf(path) < 32 * megabyte ? true : undefined));
  const grown = memoryOf(agent) - before;
  writeFileSync(join(agent.home, "go"), "");
  const lifecycle = await untilStatus(agent, begun, "READY");

  const [log] = lifecycle.logs;
  const gap = gapOf(log?.sizeBytes ?? 0, true) ?? assert.fail();
  assert.equal(log?.sizeBytes, 6 + size + 5);
  const [head, tail, ...more] = await readAll(agent, begun.id);
  assert.deepEqual(more, []);
  assert.equal(head?.bytes.length, gap.from);
  assert.equal(tail?.at, gap.to);
  assert.equal(gap.to + (tail?.bytes.length ?? 0), log?.sizeBytes);
  const onNode = readFileSync(path);
  assert.equal(onNode.length, 10 * megabyte + gapLine(gap).length);
  assert.deepEqual(
    onNode,
    Buffer.concat([
      head?.bytes ?? assert.fail(),
      Buffer.from(gapLine(gap)),
      tail?.bytes ?? assert.fail(),
    ]),
  );
  assert.match(onNode.toString("latin1", 0, 20), /^first\nx/);
  assert.match(onNode.toString("latin1", onNode.length - 20), /xlast\n$/);
  assert.ok(grown < 30 * megabyte, `${grown} bytes more`);
});

test("a log is followed from an offset while it is written, across a restart, to its end", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [
    aHook("echo one; until [ -e ~/go ]; do sleep 0.05; done; echo two"),
    aHook("echo three; exit 1"),
  ]);
  const begun = await begin(agent, "stop");
  await until(() => logOnNode(agent, "stop") === "one\n" || undefined);
  await agent.end("SIGKILL");
  await agent.start();
  const query = { id: begun.id, event: "stop", offset: 2, follow: "true" } as const;
  const { headers, body } = await agent.open("readHookLog", query);
  writeFileSync(join(agent.home, "go"), "");

  assert.match(await text(body), /^e\ntwo\nthree\n\[outrigger\] hook 2 of 2 .*\n$/);
  assert.equal(headers["log-offset"], "2");
  const { logs } = await untilStatus(agent, begun, "READY");
  const sizeBytes = logOnNode(agent, "stop").length;
  assert.deepEqual(logs, [{ event: "stop", sizeBytes, isOver: true }]);
});

test("a log that is asked for before its hook begins comes once it does", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [
    aHook("until [ -e ~/go ]; do sleep 0.05; done", { events: ["stop"] }),
    aHook("echo down", { events: ["down"] }),
  ]);
  const begun = await begin(agent, "stop");
  const down = agent.open("readHookLog", { id: begun.id, event: "down", follow: "true" });
  await begin(agent, "down");
  writeFileSync(join(agent.home, "go"), "");

  assert.equal(await text((await down).body), "down\n");
});

test("a follower of an event that gets no log ends once none can come, taken back or not", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook("until [ -e ~/go ]; do sleep 0.05; done", { events: ["stop"] })]);
  const follow = async (id: string) =>
    (await agent.open("readHookLog", { id, event: "preemption", follow: "true" })).body;
  const first = await begin(agent, "stop");
  const untilReady = await follow(first.id);
  writeFileSync(join(agent.home, "go"), "");
  assert.equal(await text(untilReady), "");
  await agent.call("cancelLifecycle", first);

  rmSync(join(agent.home, "go"));
  const second = await begin(agent, "stop");
  const untilSettled = await follow(second.id);
  await agent.call("cancelLifecycle", second);
  writeFileSync(join(agent.home, "go"), "");
  assert.equal(await text(untilSettled), "");
});

test("a reader who is slower than the log is told to ask again by the end of the stream", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [
    aHook(
      "head -c 3000000 /dev/zero; until [ -e ~/go ]; do sleep 0.05; done; head -c 60000000 /dev/zero | tr '\\0' y",
    ),
  ]);
  const begun = await begin(agent, "stop");
  await until(() => logOnNode(agent, "stop").length === 3_000_000 || undefined);
  const query = { id: begun.id, event: "stop", offset: 0, follow: "true" } as const;
  const { body } = await agent.open("readHookLog", query);
  writeFileSync(join(agent.home, "go"), "");
  const { logs } = await untilStatus(agent, begun, "READY");
  const gap = gapOf(logs[0]?.sizeBytes ?? 0, true) ?? assert.fail();
  const slow = Buffer.concat(await body.toArray());

  assert.ok(slow.length < 63_000_000);
  assert.ok(slow.subarray(0, 3_000_000).every((byte) => byte === 0));
  assert.ok(slow.subarray(3_000_000).every((byte) => byte === 121));
  const again = await agent.open("readHookLog", {
    ...query,
    offset: Math.max(slow.length, gap.from),
  });
  assert.equal(again.headers["log-offset"], String(Math.max(slow.length, gap.to)));
  await again.body.resume().toArray();
});

test("secrets are masked at their length, also across the pieces of a stream", async (t) => {
  const agent = await startAgent(t);
  const secrets = { TOKEN: "hunter2secret", SHORT: "abc" };
  const run =
    "printf 'a%s\\n' $TOKEN; echo -n hunter2; until [ -e ~/go ]; do sleep 0.05; done; echo secret $SHORT";
  await putHooks(agent, [aHook(run)], { secrets });
  const begun = await begin(agent, "stop");
  const query = { id: begun.id, event: "stop", follow: "true" } as const;
  const { body } = await agent.open("readHookLog", query);
  const chunks: string[] = [];
  body.setEncoding("latin1").on("data", (chunk) => chunks.push(chunk));
  await until(() => chunks.length > 0 || undefined);
  const beforeTheEnd = chunks.join("");
  writeFileSync(join(agent.home, "go"), "");
  await untilStatus(agent, begun, "READY");
  await until(() => body.readableEnded || undefined);

  const stars = "*".repeat(13);
  assert.equal(beforeTheEnd, `a${stars}\n`);
  assert.equal(chunks.join(""), `a${stars}\n${stars} abc\n`);
  assert.equal(logOnNode(agent, "stop"), "ahunter2secret\nhunter2secret abc\n");
  const rest = await agent.open("readHookLog", { id: begun.id, event: "stop", offset: 5 });
  assert.equal(await text(rest.body), `a${stars}\n${stars} abc\n`.slice(5));
});

test("earlier logs of an event move aside, five of them; each lifecycle still reads its own", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook("echo $OUTRIGGER_LIFECYCLE_ID", { events: ["stop"] })]);
  const ids: string[] = [];
  for (let round = 0; round < 7; round += 1) {
    const { id } = await play(agent, "stop");
    await agent.call("cancelLifecycle", { id });
    ids.unshift(id);
  }

  const suffixes = ["", ".1", ".2", ".3", ".4", ".5"];
  for (const [index, suffix] of suffixes.entries()) {
    assert.equal(findFile(agent, `.outrigger/hooks/stop.log${suffix}`), `${ids[index]}\n`);
    const side = JSON.parse(findFile(agent, `.outrigger/hooks/stop.json${suffix}`) ?? "");
    assert.equal(side.lifecycle, ids[index]);
  }
  assert.equal(findFile(agent, ".outrigger/hooks/stop.log.6"), undefined);
  for (const id of ids) assert.equal(await hookLog(agent, { id }, "stop"), `${id}\n`);
});

test("the log of a lifecycle that nobody knows is not found; one without hooks is empty", async (t) => {
  const agent = await startAgent(t);
  const { id } = await play(agent, "down");

  await assert.rejects(hookLog(agent, { id: "other" }, "stop"), { name: "NotFoundError" });
  for (const event of hookEvents)
    assert.equal(
      await text((await agent.open("readHookLog", { id, event, follow: "true" })).body),
      "",
    );
});

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
const diskOf = (path: string): number => (statSync(path).blocks ?? 0) * 512;

/** Bytes of memory that are the agent's alone. */
function memoryOf({ pid }: TestAgent): number {
  const [, kilobytes] =
    /^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}
