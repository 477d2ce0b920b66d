import assert from "node:assert/strict";
import { appendFileSync, existsSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { growthFileOf } from "../../common/log-growth.ts";
import type { AgentEvent, LogGrowth } from "../../contract/agent-shapes.ts";
import { eventsOf, startAgent, text, until } from "../helpers/agent.ts";

const agent = await startAgent({ after }, { cpus: 8 });

test("a log is read from a byte offset, and what lies behind its end is empty", async () => {
  const { id } = await agent.submit("printf 'one\\ntwo\\nthree\\n'");
  await agent.untilJob(id);
  const readFrom = async (offset: number) => {
    const { headers, body } = await agent.open("readLog", { id, offset });
    return [headers["log-offset"], await text(body)];
  };

  assert.deepEqual(await readFrom(4), ["4", "two\nthree\n"]);
  assert.deepEqual(await readFrom(99), ["99", ""]);
});

test("the last lines of a log begin at an offset that is told", async () => {
  const { id } = await agent.submit("printf 'one\\ntwo\\nthree\\n'");
  await agent.untilJob(id);
  const { headers, body } = await agent.open("readLog", { id, tail: 2 });

  assert.equal(headers["log-offset"], "4");
  assert.equal(await text(body), "two\nthree\n");
});

test("a hundred followers of one log each get every byte, and end with the job", async () => {
  const { id } = await agent.submit("for i in 1 2 3; do echo $i; sleep 0.05; done; printf end");
  const followers = await Promise.all(
    Array.from({ length: 100 }, () => agent.open("readLog", { id, follow: "true" })),
  );
  const texts = await Promise.all(followers.map(({ body }) => text(body)));

  assert.deepEqual(new Set(texts), new Set(["1\n2\n3\nend"]));
});

test("a follower sees a line within a few milliseconds", async () => {
  const gate = join(agent.home, "gate");
  const { id } = await agent.submit(`until [ -e ${gate} ]; do sleep 0.05; done`);
  const { body } = await agent.open("readLog", { id, follow: "true" });
  const delays: number[] = [];
  // The quickest: what the machine does besides can only slow it down.
  for (let round = 0; round < 10 || (round < 200 && Math.min(...delays) >= 25); round += 1) {
    const before = performance.now();
    appendFileSync(join(agent.home, `.outrigger/jobs/${id}/run.log`), `${round}\n`);
    await new Promise((resolve) => body.once("data", resolve));
    delays.push(performance.now() - before);
  }
  writeFileSync(gate, "");
  await text(body);

  assert.ok(Math.min(...delays) < 25, delays.join(" "));
});

test("a reader that is slow holds the agent's memory flat", async () => {
  const { id } = await agent.submit("true");
  await agent.untilJob(id);
  const sizeBytes = 200 * 2 ** 20;
  truncateSync(join(agent.home, `.outrigger/jobs/${id}/run.log`), sizeBytes);
  const before = await residentBytes();
  const { body } = await agent.open("readLog", { id });
  let read = 0;
  let most = 0;
  for await (const chunk of body) {
    read += chunk.length;
    if (read % (32 * 2 ** 20) < chunk.length) most = Math.max(most, await residentBytes());
  }

  assert.equal(read, sizeBytes);
  assert.ok(most - before < 20 * 2 ** 20, `grew by ${(most - before) / 2 ** 20} MiB`);
});

async function residentBytes(): Promise<number> {
  await using file = await open(`/proc/${agent.pid}/statm`);
  const pages = (await file.readFile("utf8")).split(" ")[1];
  return Number(pages) * 4096;
}

test("a log that grows beyond its size keeps its beginning and its end, at their offsets", async () => {
  const size = 100 * 2 ** 20;
  const limits = { logBytes: 32 * 2 ** 20 };
  const line = "123456789abcdef\n";
  const print = `yes ${line.trim()} | head -c ${size}; touch ~/printed; sleep 1000`;
  const { id } = await agent.submit(print, { limits });
  const path = join(agent.home, `.outrigger/jobs/${id}/run.log`);
  await until(
    () =>
      (existsSync(join(agent.home, "printed")) && statSync(path).blocks * 512 < 48 * 2 ** 20) ||
      undefined,
  );

  const { headers, body } = await agent.open("readLog", { id });
  const first = await text(body);
  const rest = await agent.open("readLog", { id, offset: first.length });
  const from = Number(rest.headers["log-offset"]);
  const last = await text(rest.body);

  assert.equal(headers["log-offset"], "0");
  assert.equal(first.length, 16 * 2 ** 20);
  assert.equal(from + last.length, size);
  assert.ok(from >= size - 48 * 2 ** 20, `${from}`);
  assert.ok(last.startsWith(line) && last.endsWith(line));
  assert.equal(first.includes("\0") || last.includes("\0"), false);
  const { body: tail } = await agent.open("readLog", { id, tail: 2 });
  assert.equal(await text(tail), line.repeat(2));
  await agent.call("cancelJob", { id, graceMs: 0 });
});

test("a log says when it grew, and is read from an instant on", async () => {
  const gate = join(agent.home, "gate-of-growth");
  const { id } = await agent.submit(
    `echo one; until [ -e ${gate} ]; do sleep 0.05; done; echo two`,
  );
  const log = join(agent.home, `.outrigger/jobs/${id}/run.log`);
  await until(() => existsSync(growthFileOf(log)) || undefined);
  writeFileSync(gate, "");
  await agent.untilJob(id);

  const [one, two, ...others] = await agent.call("listLogGrowth", { id, after: 0 });
  const since = async (at: number) => text((await agent.open("readLog", { id, since: at })).body);

  assert.deepEqual([one?.size, two?.size, others], [4, 8, []]);
  assert.ok(one && two && one.at < two.at);
  assert.equal(two.at, Math.floor(statSync(log).mtimeMs));
  assert.equal(await since(one.at), "one\ntwo\n");
  assert.equal(await since(one.at + 1), "two\n");
  assert.equal(await since(two.at + 1), "");
});

test("what a job prints while its agent is away is as old as the last of it", async () => {
  const [left, gate] = [join(agent.home, "left"), join(agent.home, "gate-of-absence")];
  const { id } = await agent.submit(
    `touch ${left}.begun; until [ -e ${left} ]; do sleep 0.05; done; echo one; echo two
     until [ -e ${gate} ]; do sleep 0.05; done`,
  );
  await until(() => existsSync(`${left}.begun`) || undefined);
  await agent.end("SIGKILL");
  writeFileSync(left, "");
  const log = join(agent.home, `.outrigger/jobs/${id}/run.log`);
  await until(() => statSync(log).size === 8 || undefined);
  const at = Math.floor(statSync(log).mtimeMs);
  await agent.start();
  writeFileSync(gate, "");
  await agent.untilJob(id);

  assert.deepEqual(await agent.call("listLogGrowth", { id, after: 0 }), [{ size: 8, at }]);
});

test("lines that are under way at an instant are read from their beginning", async () => {
  const gate = join(agent.home, "gate-of-line");
  const { id } = await agent.submit(`printf on; until [ -e ${gate} ]; do sleep 0.05; done; echo e`);
  const log = join(agent.home, `.outrigger/jobs/${id}/run.log`);
  await until(() => existsSync(growthFileOf(log)) || undefined);
  writeFileSync(gate, "");
  await agent.untilJob(id);

  const { at } = (await agent.call("listLogGrowth", { id, after: 0 }))[0] ?? { at: 0 };
  assert.equal(await text((await agent.open("readLog", { id, since: at + 1 })).body), "one\n");
});

test("readers of events are told that a log has grown, at once and then at most once a second", async () => {
  const { lastSeq } = await agent.call("health", {});
  const { body } = await agent.open("events", { after: lastSeq });
  const { id } = await agent.submit("for i in $(seq 30); do echo $i; sleep 0.05; done");
  let grown = 0;
  for await (const event of eventsOf(body) as AsyncIterable<AgentEvent | LogGrowth>) {
    if (event.jobId !== id) continue;
    if (event.kind === "log") grown += 1;
    else if ("status" in event && event.status === "SUCCEEDED") break;
  }

  const { startedAt, endedAt } = await agent.call("getJob", { id });
  const seconds = ((endedAt ?? 0) - (startedAt ?? 0)) / 1_000;
  assert.ok(grown >= 1 && grown <= 2 + seconds, `${grown} times in ${seconds} s`);
  const { headers, body: log } = await agent.open("readLog", { id, offset: 5 });
  assert.equal(Number(headers["log-size"]), 5 + (await text(log)).length);
});
