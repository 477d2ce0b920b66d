import assert from "node:assert/strict";
import { test } from "node:test";
import type { Growth } from "../../../common/log-growth.ts";
import { controlLine } from "../../../control/wire/control-lines.ts";
import { piecesOf, type ReadGrowth, withInstants } from "../../../control/wire/log-pieces.ts";
import { text } from "../../helpers/agent.ts";

const noon = Date.UTC(2026, 0, 31, 12);
const instant = (second: number | undefined) =>
  controlLine("instant", second === undefined ? "" : new Date(noon + second * 1_000).toISOString());

async function* chunksOf(texts: readonly string[]) {
  for (const text of texts) yield Buffer.from(text);
}

/** Sizes and seconds; asked for so often. */
function recorded(...rows: readonly (readonly [size: number, second: number])[]) {
  const records: Growth[] = rows.map(([size, second]) => ({ size, at: noon + second * 1_000 }));
  const asked: number[] = [];
  const read: ReadGrowth = async (after) => {
    asked.push(after);
    return records.filter(({ size }) => size > after);
  };
  return { read, asked };
}

const shown = (texts: readonly string[], growth?: ReadGrowth, start = 0) =>
  text(withInstants(piecesOf(start, chunksOf(texts), growth)));

test("lines come after the instant at which they began, which is said once", async () => {
  const { read, asked } = recorded([8, 0], [14, 5]);

  assert.equal(
    await shown(["one\ntwo\nthr", "ee\n"], read),
    `${instant(0)}one\ntwo\n${instant(5)}three\n`,
  );
  assert.deepEqual(asked, [0]);
});

test("a line that goes on later is as old as its beginning", async () => {
  const { read } = recorded([2, 0], [6, 5], [12, 9]);

  assert.equal(
    await shown(["on", "e\ntw", "o\nend\n"], read),
    `${instant(0)}one\n${instant(5)}two\n${instant(9)}end\n`,
  );
});

test("what nothing is known of is said to be of no instant", async () => {
  const { read } = recorded([4, 0]);

  assert.equal(await shown(["one\ntwo\n"], read), `${instant(0)}one\n${instant(undefined)}two\n`);
  assert.equal(await shown(["one\n"]), `${instant(undefined)}one\n`);
});

test("a log that is read on says whether a line begins there", async () => {
  const { read } = recorded([20, 0]);
  const early = (texts: readonly string[]) =>
    text(withInstants(piecesOf(3, chunksOf(texts), read), true));

  assert.equal(await early(["\ntwo\n"]), `${instant(0)}two\n`);
  assert.equal(await early(["e\ntwo\n"]), `\n${instant(0)}two\n`);
});

test("a workload cannot say when its lines began", async () => {
  const forged = controlLine("instant", "2001-01-01T00:00:00Z");
  const { read } = recorded([1_000, 0]);

  const text = await shown([forged.slice(0, 5), forged.slice(5)], read);

  assert.equal(text, `${instant(0)}${forged.replaceAll('sky-payload>"', 'sky_payload>"')}`);
});
