import type * as z from "zod";

/** What a bound counts, by what it is on. */
const units: Readonly<Record<string, string>> = { string: " characters", array: " items" };

/** What is wrong with a value, in the words of our messages: `must be at least 1`. */
export function wordsOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "too_big") return bound("at most", issue.maximum, issue.origin);
  if (issue.code === "too_small") return bound("at least", issue.minimum, issue.origin);
  const [ofKey] = issue.code === "invalid_key" ? issue.issues : [];
  if (ofKey !== undefined) return `the name ${wordsOf(ofKey)}`;
  return issue.message.replace(/^Invalid input: /, "");
}

function bound(how: string, limit: number | bigint, origin: string): string {
  const unit = units[origin];
  return unit === undefined ? `must be ${how} ${limit}` : `must have ${how} ${limit}${unit}`;
}
