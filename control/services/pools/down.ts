import { fail } from "../../../common/errors.ts";
import type { InputOf } from "../../../common/operation.ts";
import type { poolOperations as rows } from "../../../contract/operations/pools.ts";
import type { Call } from "../../bind.ts";
import type { Context } from "../../context.ts";
import { wakeTask, wantCancelled } from "../../jobs/want.ts";
import { listUnsettledOf } from "../../jobs/work-store.ts";
import { causeOf, want } from "../../want.ts";
import { chooseOnce, untilGone } from "../down.ts";
import { getService } from "../store.ts";

type Input = InputOf<typeof rows.down>;

/** Takes pools down; one with jobs only where these are to be cancelled. */
export async function down(ctx: Context, { pool_names: names, all, purge }: Input, call: Call) {
  const chosen = await chooseOnce(ctx, { names: all ? null : names, isPool: true }, call);
  const refusals = await Promise.all(chosen.map((id) => wantDown(ctx, id, purge, call)));
  const going = chosen.filter((_, at) => refusals[at] === undefined);
  await Promise.all(going.map((id) => untilGone(ctx, id, purge, call)));
  const refused = refusals.filter((one) => one !== undefined);
  if (refused.length > 0) fail("ConflictError", refused.join("; "));
  return null;
}

/** What the row's shapes cannot say of which pools are meant. */
export function checkDown({ pool_names: names, all }: Input): void {
  const isNamed = names !== null && names.length > 0;
  if (isNamed === all) fail("ValueError", "give either pool_names or all");
}

/** Wants a pool gone, or says why not; in one transaction with a look at its jobs. */
async function wantDown(
  ctx: Context,
  id: string,
  purge: boolean,
  call: Call,
): Promise<string | undefined> {
  const cause = causeOf(call, "down");
  const { name } = await getService(ctx.db, id);
  const left = await ctx.batch(async (tx) => {
    const tasks = await listUnsettledOf(tx, id);
    if (tasks.length > 0 && !purge) return tasks;
    for (const task of tasks) await wantCancelled(tx, task.id, cause);
    await want(tx, "service", id, { wanted: "GONE", ...cause });
    return tasks;
  });
  const numbers = [...new Set(left.map(({ job_id: jobId }) => jobId))];
  if (left.length > 0 && !purge)
    return `pool ${name} has managed jobs that have not ended: ${shown(numbers)}; wait for them or cancel them first, or purge the pool, which cancels them`;
  for (const task of left) wakeTask(ctx, task.id);
  if (numbers.length > 0) call.print(`Managed jobs ${shown(numbers)} are being cancelled\n`);
  return undefined;
}

const shownAtMost = 10;

const shown = (numbers: readonly number[]): string =>
  numbers.length > shownAtMost
    ? `${numbers.slice(0, shownAtMost).join(", ")} and ${numbers.length - shownAtMost} more`
    : numbers.join(", ");
