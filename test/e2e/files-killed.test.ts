import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../helpers/agent.ts";
import {
  findAgent,
  listNodeHomes,
  peakMemoryOf,
  startControl,
  type TestControl,
} from "../helpers/programs.ts";

const megabyte = 2 ** 20;
const bigMb = Number(process.env["FILES_TEST_MB"] ?? 48);
/** What either program may grow by, however large the file is. */
const growthAtMost = 120 * megabyte;

/** A project whose transfer takes a moment, once its big file is there. */
function writeProject(home: string): void {
  mkdirSync(join(home, "project"));
  for (let at = 0; at < 200; at += 1)
    writeFileSync(join(home, "project", `small-${at}`), `${at}\n`);
}

/** Another big file; its bytes. */
function writeBig(home: string): Buffer {
  const big = Buffer.concat(Array<Buffer>(bigMb).fill(randomBytes(megabyte)));
  writeFileSync(join(home, "project/big"), big);
  return big;
}

const check = "stat -c %s big; cat small-199; ls | wc -l";
const expected = `${bigMb * megabyte}\n199\n201\n`;

/** Contents that are on their way to a node, or were when its agent was killed. */
function comingTo(node: string): string[] {
  const folder = join(node, ".outrigger/agent/files/contents");
  try {
    const names = readdirSync(folder).filter((name) => /-/.test(name));
    return names.filter((name) => statSync(join(folder, name)).size > megabyte);
  } catch {
    return [];
  }
}

/** Runs a command that brings the project until its big file is seen on the way; how that one ends. */
async function catchOnTheWay(control: TestControl, node: string, ...words: string[]) {
  for (;;) {
    const big = writeBig(control.home);
    const before = comingTo(node);
    let isOver = false;
    const ending = control.cli(...words).finally(() => {
      isOver = true;
    });
    const isComing = () => comingTo(node).some((name) => !before.includes(name));
    const seen = await until(() => (isComing() ? "coming" : isOver ? "over" : undefined));
    // Where this process slept meanwhile, all of it is there already.
    if (seen === "coming") return { big, ending };
  }
}

test("files arrive although the agent, and control, are killed on the way", async (t) => {
  const control = await startControl(t);
  await control.cli("launch", "-c", "dev", "--no-setup", "true");
  const [node = ""] = listNodeHomes(control.home);
  writeProject(control.home);
  let peaks = { control: 0, agent: 0 };
  const peaksNow = () => ({
    control: peakMemoryOf(control.pid),
    agent: peakMemoryOf(findAgent(node) ?? 0),
  });

  await t.test("the agent", async () => {
    const words = ["launch", "-c", "dev", "--workdir", "project", check];
    const { ending } = await catchOnTheWay(control, node, ...words);
    process.kill(findAgent(node) ?? assert.fail("no agent serves the node"), "SIGKILL");

    const { code, stdout, stderr } = await ending;
    assert.equal(code, 0, stderr);
    assert.equal(stdout, expected);
  });

  await t.test("control", async () => {
    writeFileSync(join(control.home, "project/small-0"), "changed");
    const words = ["exec", "dev", "--workdir", "project", `cat small-0; ${check}`];
    const { big, ending } = await catchOnTheWay(control, node, ...words);
    await control.end("SIGKILL");
    await control.start();
    peaks = peaksNow();

    const { code, stdout, stderr } = await ending;
    assert.equal(code, 0, stderr);
    assert.equal(stdout, `changed${expected}`);
    assert.ok(readFileSync(join(node, "outrigger_workdir/big")).equals(big));
  });

  await t.test("and neither holds a large file in memory", () => {
    const now = peaksNow();
    for (const name of ["control", "agent"] as const)
      assert.ok(now[name] - peaks[name] < growthAtMost, `${name}: ${peaks[name]}, ${now[name]}`);
  });
});
