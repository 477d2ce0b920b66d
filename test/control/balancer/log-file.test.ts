import assert from "node:assert/strict";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import { earlierLogOf } from "../../../contract/balancer-api.ts";
import { type Logs, openLogs } from "../../../control/balancer/log.ts";
import { turn } from "../../../control/balancer/log-file.ts";
import { newPassage } from "../../../sidecar/forward/passage.ts";
import { until } from "../../helpers/agent.ts";

const fileBytes = 20_000;
/** Lines are written together, so much at a time. */
const bytesOfWrite = 65_536;

/** Logs that share a file of a test. */
function logsIn(t: TestContext, count: number) {
  const folder = mkdtempSync(join(tmpdir(), "log-"));
  const file = join(folder, "balancer.log");
  const logs = Array.from({ length: count }, () =>
    openLogs({ level: "info", access: "on", file, fileBytes }),
  );
  t.after(() => rmSync(folder, { recursive: true }));
  return { folder, file, logs };
}

/** Has a request logged, whose path is this number. */
const forward = ({ access }: Logs, path: number) =>
  access.ended({ ...newPassage("10.0.0.1"), path: String(path) });

/** The lines that are there now; each is whole. */
const linesOf = (file: string) =>
  readFileSync(file, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as { msg: string; path?: string });

const inodeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.ino;

/**
 * Has requests logged until the file was begun anew; answers the last one's path. Waits until what it
 * had logged is written, as lines are dropped that come faster than a slow disk takes them.
 */
async function untilTurned(one: Logs, file: string, from: number): Promise<number> {
  let path = from;
  const inode = inodeOf(file);
  const isRotated = () => ![undefined, inode].includes(inodeOf(file));
  const isWritten = () => readFileSync(file, "utf8").includes(`"path":"${path}"`);
  while (!isRotated()) {
    for (let nth = 0; nth < 60; nth += 1) {
      path += 1;
      forward(one, path);
    }
    await until(() => isRotated() || (existsSync(file) && isWritten()) || undefined);
  }
  return path;
}

test("a log is begun anew when it is full, and of what was before only the last is kept", async (t) => {
  const { folder, file, logs } = logsIn(t, 1);
  const [one] = logs;
  assert.ok(one);

  let last = 0;
  for (let turns = 0; turns < 3; turns += 1) last = await untilTurned(one, file, last);

  const paths = await until(() => {
    const inode = inodeOf(file);
    const all = [...linesOf(earlierLogOf(file)), ...linesOf(file)];
    const found = all.map(({ path }) => Number(path));
    return found.includes(last) && inodeOf(file) === inode ? found : undefined;
  });
  const [first = 0] = paths;
  assert.ok(first > 1, "the oldest are gone");
  assert.deepEqual(
    paths,
    Array.from({ length: last - first + 1 }, (_, at) => first + at),
  );
  assert.deepEqual(readdirSync(folder).sort(), [basename(file), basename(earlierLogOf(file))]);
  for (const path of [file, earlierLogOf(file)]) {
    const { size, mode } = statSync(path);
    assert.ok(size < fileBytes + bytesOfWrite, String(size));
    assert.equal(mode & 0o777, 0o600);
  }
});

test("what a balancer does, and what another one does, goes to the new file as well", async (t) => {
  const { file, logs } = logsIn(t, 2);
  const [one, other] = logs;
  assert.ok(one && other);
  await untilTurned(one, file, 0);

  one.log.info({}, "done by one");
  await one.access.close();
  other.log.info({}, "done by the other");
  await other.access.close();

  const done = linesOf(file).filter(({ path }) => path === undefined);
  assert.deepEqual(
    done.map(({ msg }) => msg),
    ["done by one", "done by the other"],
  );
});

/** Files that this process has open, also such as are gone. */
const openFiles = () =>
  readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return "";
    }
  });

test("a balancer that writes nothing holds no file that another one turned", async (t) => {
  const { file, logs } = logsIn(t, 2);
  const [one, silent] = logs;
  assert.ok(one && silent);
  const last = await untilTurned(one, file, 0);
  const isHeld = () => openFiles().some((path) => path.startsWith(earlierLogOf(file)));
  await until(() => !isHeld() || undefined);
  await untilTurned(one, file, last);

  silent.log.info({}, "written after two turns");
  await silent.access.close();

  const all = [...linesOf(earlierLogOf(file)), ...linesOf(file)];
  assert.ok(all.some(({ msg }) => msg === "written after two turns"));
});

test("what another balancer has turned already is turned by nobody else", (t) => {
  const { file } = logsIn(t, 0);
  writeFileSync(file, "full\n");
  const inode = inodeOf(file) ?? 0;
  turn(file, inode);
  writeFileSync(file, "begun anew\n");

  turn(file, inode);

  const texts = [earlierLogOf(file), file].map((path) => readFileSync(path, "utf8"));
  assert.deepEqual(texts, ["full\n", "begun anew\n"]);
});

test("without an access log only what the balancer does is written", async (t) => {
  const { file } = logsIn(t, 0);
  const { log, access } = openLogs({ level: "info", access: "off", file, fileBytes });

  log.info({}, "begins");
  await until(() => linesOf(file).length > 0 || undefined);

  assert.equal(access.wantsPath, false);
  assert.deepEqual(
    linesOf(file).map(({ msg }) => msg),
    ["begins"],
  );
});
