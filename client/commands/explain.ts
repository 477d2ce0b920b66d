import { fail } from "../../common/errors.ts";
import { explainOperations } from "../../contract/operations/explain.ts";
import type { Explanation } from "../../contract/records/explanation.ts";
import { explanationForm } from "../output/control.ts";
import { ago, duration } from "../rendering.ts";
import type { Run } from "../world.ts";
import { answerOne, type OutputOptions } from "./answers.ts";

/** `outrigger explain`. */
export const explain: Run<OutputOptions> = async (world, [name], options) => {
  if (name === undefined)
    fail(
      "UsageError",
      "name a cluster, a service, a managed job or a request: outrigger explain NAME",
    );
  const client = await world.connect();
  const found = await client.call(explainOperations.explain, { name });
  if (world.json) return answerOne(world, options, explanationForm, found);
  for (const line of linesOf(found, world.now())) world.terminal.answer(line);
};

function linesOf(found: Explanation, now: Date): string[] {
  const { noun, name, id, status, wanted, because, since, doing, attempt } = found;
  const called = calledBy[noun]?.(name, id) ?? `${noun} ${name}`;
  const aim = wanted === null || wanted === status ? "" : `; it should become ${wanted}`;
  const lines = [`${called} is ${status} (since ${ago(since, now)})${aim}`];
  if (because !== null) lines.push(`  because of: ${because}`);
  lines.push(...doing.map((text) => `  now: ${text}`));
  if (attempt !== null) lines.push(...attemptLines(attempt, now.getTime() / 1_000));
  if (doing.length === 0 && attempt === null) lines.push("  nothing is under way");
  return lines;
}

function attemptLines(
  { failures, reason, failed_at, next_at }: NonNullable<Explanation["attempt"]>,
  now: number,
): string[] {
  const times = failures === 1 ? "the last attempt failed" : `the last ${failures} attempts failed`;
  const next = next_at > now ? `in ${duration(next_at - now)}` : "now";
  return [`  ${times}, ${duration(now - failed_at)} ago: ${reason}`, `  next attempt: ${next}`];
}

const calledBy: Readonly<Record<string, (name: string, id: string) => string>> = {
  request: (name, id) => `${name} request ${id.slice(0, 8)}`,
  managed_job: (name, id) => `managed job ${id} (${name})`,
};
