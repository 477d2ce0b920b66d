import assert from "node:assert/strict";
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type TestContext, test } from "node:test";
import { resumeRewrite } from "../../../agent/hooks/log-rewrite.ts";
import { gapLine, gapOf } from "../../../contract/hooks.ts";
import { startAgent, type TestAgent, until } from "../../helpers/agent.ts";
import { aHook, begin, letGo, putHooks, untilStatus } from "../lifecycles/steps.ts";

const megabyte = 2 ** 20;
/** Every line has this length, and says which one it is. */
const lineBytes = 16;
const lines = 3_000_000;
/** The log as it is before anything is left out. */
const whole = countedLines();

function countedLines(): Buffer {
  const all = Buffer.alloc(lines * lineBytes);
  const line = Buffer.from(`${"0".repeat(lineBytes - 1)}\n`);
  for (let at = 0; at < all.length; at += lineBytes) {
    let digit = lineBytes - 2;
    for (; line[digit] === 57; digit -= 1) line[digit] = 48;
    line[digit] = (line[digit] ?? 0) + 1;
    all.set(line, at);
  }
  return all;
}

/** Asserts that bytes are those of the log from an offset on, whole lines. */
function assertLines(bytes: Buffer, offset: number): void {
  assert.equal(offset % lineBytes, 0);
  assert.equal(bytes.length % lineBytes, 0);
  const isSame = bytes.equals(whole.subarray(offset, offset + bytes.length));
  assert.ok(isSame, `${bytes.length} bytes from ${offset} on are not those of the log`);
}

/** An agent that finds a `fallocate` that cannot punch holes. */
function anAgent(t: TestContext): Promise<TestAgent> {
  const folder = mkdtempSync(join(tmpdir(), "path-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "fallocate"), "#!/bin/sh\nexit 1\n");
  chmodSync(join(folder, "fallocate"), 0o755);
  return startAgent(t, { env: { PATH: `${folder}${delimiter}${process.env["PATH"]}` } });
}

/** What a follower gets who asks again behind what was left out. */
async function follow(agent: TestAgent, id: string): Promise<number> {
  for (let offset = 0, got = 0; ; ) {
    const query = { id, event: "stop", offset, follow: "true" } as const;
    const { headers, body } = await agent.open("readHookLog", query);
    const at = Number(headers["log-offset"]);
    const bytes = Buffer.concat(await body.toArray());
    if (bytes.length === 0) return got;
    assertLines(bytes, at);
    got += bytes.length;
    offset = at + bytes.length;
  }
}

test("where no hole can be punched a log is small as well, and whoever follows it reads nothing wrong", async (t) => {
  const agent = await anAgent(t);
  const run = `seq -f %0${lineBytes - 1}.0f ${lines}; until [ -e ~/go ]; do sleep 0.05; done`;
  await putHooks(agent, [aHook(run)]);
  const begun = await begin(agent, "stop");
  const following = follow(agent, begun.id);
  const path = join(agent.home, ".outrigger/hooks/stop.log");
  await until(() => (sizeOf(path) === lines * lineBytes ? true : undefined));
  await until(() => (diskOf(path) < 32 * megabyte ? true : undefined));
  letGo(agent);
  const { logs } = await untilStatus(agent, begun, "READY");

  assert.equal(logs[0]?.sizeBytes, lines * lineBytes);
  assert.ok((await following) >= 10 * megabyte);
  const gap = gapOf(lines * lineBytes, true) ?? assert.fail();
  const kept = readFileSync(path);
  const line = Buffer.byteLength(gapLine(gap));
  assertLines(kept.subarray(0, gap.from), 0);
  assertLines(kept.subarray(gap.from + line), gap.to);
  assert.equal(kept.length, 10 * megabyte + line);
});

test("an agent that was killed while it wrote a log anew finishes that", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "logs-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "stop.log");
  const size = 30 * megabyte;
  const written = whole.subarray(0, size);
  const gap = gapOf(size, false) ?? assert.fail();
  const tail = `${path}.${gap.from}-${gap.to}.tail`;
  // Killed before anything was cut, in the midst, and before the copy was deleted.
  for (const cutTo of [size, gap.from, gap.to, gap.to + 100, size]) {
    writeFileSync(path, written);
    truncateSync(path, cutTo);
    writeFileSync(tail, written.subarray(gap.to));
    resumeRewrite(path);

    const log = readFileSync(path);
    assert.equal(log.length, size);
    assert.ok(log.subarray(0, gap.from).equals(written.subarray(0, gap.from)));
    assert.ok(log.subarray(gap.to).equals(written.subarray(gap.to)));
    assert.deepEqual(readdirSync(folder), ["stop.log"]);
  }
});

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
const diskOf = (path: string): number => statSync(path).blocks * 512;
