import { Script } from "node:vm";
import { errorCodeOf, fail } from "../../common/errors.ts";

/** Far more than a pattern that people write takes. */
const longestMs = 20;

const search = new Script("names.filter((name) => new RegExp(pattern, flags).test(name))");

/**
 * The names in which a caller's regular expression is found. Throws `ValueError` for a pattern that is
 * none, and for one that takes longer to match than any sensible one.
 */
export function namesWith(
  field: string,
  pattern: string,
  names: readonly string[],
  flags: "" | "i" = "",
): string[] {
  // The time limit does not cover compiling, which only repetition counts make expensive.
  if (pattern.includes("{")) refuse(field, "repetition counts are not supported; write * or +");
  for (;;) {
    const before = process.cpuUsage();
    try {
      return search.runInNewContext({ pattern, flags, names: [...names] }, { timeout: longestMs });
    } catch (error) {
      if (errorCodeOf(error) !== "ERR_SCRIPT_EXECUTION_TIMEOUT")
        return refuse(field, "not a regular expression");
      const { user, system } = process.cpuUsage(before);
      // The limit goes by the wall clock; a busy machine may not have let us run.
      if (user + system > (longestMs * 1_000) / 2)
        return refuse(field, "the pattern takes too long to match; simplify it");
    }
  }
}

const refuse = (field: string, why: string): never => fail("ValueError", `${field}: ${why}`);
