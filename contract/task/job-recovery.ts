import { leaseBounds } from "../lease.ts";
import { asText } from "./amounts.ts";
import { child, refuse } from "./place.ts";
import { choice, fields, integer, isMapping, isWithin, listOf, reads } from "./readers.ts";
import { amount, either } from "./schema.ts";
import { parseSeconds } from "./units.ts";

/** How a managed job goes on after it lost its cluster or ended with an error. */
export interface JobRecovery {
  /** `none` never recovers. */
  readonly strategy: "FAILOVER" | "EAGER_NEXT_REGION" | "none";
  readonly maxRestartsOnErrors: number;
  readonly recoverOnExitCodes: readonly number[];
  /** How long an attempt may live while its machine does not hear control; null has no limit. */
  readonly leaseSeconds: number | null;
}

const strategy = choice("FAILOVER", "EAGER_NEXT_REGION", "none");
const exitCode = integer({ min: 0, max: 255 });

const codeList = listOf(exitCode);
const exitCodes = reads<number[]>(either(exitCode.schema, codeList.schema), (place) => {
  if (!Array.isArray(place.value)) {
    const code = exitCode(place);
    return code === undefined ? undefined : [code];
  }
  if (!isWithin(place, place.value.length)) return undefined;
  for (const [at, code] of place.value.entries())
    if (place.value.indexOf(code) < at)
      refuse(child(place, at), "is given twice; keep one of them");
  return codeList(place);
});

const lease = reads(amount(/^\s*\d{1,9}\s*[smhdwSMHDW]?\s*$/), (place) => {
  const { leastSeconds, mostSeconds } = leaseBounds;
  const seconds = parseSeconds(asText(place.value), "s");
  if (seconds !== undefined && seconds >= leastSeconds && seconds <= mostSeconds) return seconds;
  return refuse(
    place,
    `must be from ${leastSeconds}s to ${mostSeconds / 86_400}d, a number with one of s, m, h, d, w: \`10m\``,
  );
});

const settings = fields({
  strategy,
  max_restarts_on_errors: integer({ min: 0 }),
  recover_on_exit_codes: exitCodes,
  lease,
});
const schema = either(strategy.schema, settings.schema);

/** The name of a strategy, or a mapping. */
export const jobRecovery = reads<JobRecovery>(schema, (place) => {
  const given = isMapping(place.value) ? settings(place) : undefined;
  if (given?.lease !== undefined && given.strategy === "none")
    refuse(
      child(place, "lease"),
      "goes only with recovery: a lease is what the next attempt waits for, and with `strategy: none` there is none",
    );
  return {
    strategy: (given === undefined ? strategy(place) : given.strategy) ?? "EAGER_NEXT_REGION",
    maxRestartsOnErrors: given?.max_restarts_on_errors ?? 0,
    recoverOnExitCodes: given?.recover_on_exit_codes ?? [],
    leaseSeconds: given?.lease ?? null,
  };
});
