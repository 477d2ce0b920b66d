import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { firstLogBytes } from "../../../contract/job-log.ts";
import { openJobLog } from "../../../control/clusters/logs.ts";
import type { Context } from "../../../control/context.ts";
import { textOf } from "../../../control/wire/log-pieces.ts";
import { text } from "../../helpers/agent.ts";
import { aCluster } from "../../helpers/clusters.ts";

const megabyte = 2 ** 20;
const gap = { from: firstLogBytes, to: firstLogBytes + 16 * megabyte };

/** An agent whose log goes from `first` to `last` over the gap. */
function answersOf(first: string, last: string) {
  const asked: number[] = [];
  const open = async (_row: unknown, { offset }: { offset: number }) => {
    asked.push(offset);
    const start = offset >= gap.from && offset < gap.to ? gap.to : offset;
    const content = start < gap.from ? first : last.slice(start - gap.to);
    return {
      headers: { "log-offset": String(start) },
      body: Readable.from([Buffer.from(content)]),
    };
  };
  const ctx = { agent: () => ({ open }), steadyNow: () => 0 } as unknown as Context;
  return { asked, ctx };
}

test("a log goes on behind what was left out, after a line that says so", async (t) => {
  const { asked, ctx } = answersOf("a".repeat(firstLogBytes), "the end\n");
  const query = { id: 1, tail: 0, offset: 0, follow: "false" };

  const { pieces } = await openJobLog(ctx, aCluster(), query, t.signal);
  const whole = await text(textOf(pieces));

  assert.equal(whole.slice(firstLogBytes), "\n[16 MiB of output were left out here]\nthe end\n");
  assert.deepEqual(asked, [0, gap.from, gap.to + 8]);
});

test("a log from which nothing was left out is asked for once", async (t) => {
  const { asked, ctx } = answersOf("short\n", "");
  const query = { id: 1, tail: 0, offset: 0, follow: "false" };

  const { pieces } = await openJobLog(ctx, aCluster(), query, t.signal);

  assert.equal(await text(textOf(pieces)), "short\n");
  assert.deepEqual(asked, [0]);
});
