import assert from "node:assert/strict";
import { test } from "node:test";
import {
  afterAnswer,
  afterRefusal,
  isNews,
  nothingSeen,
  type Seen,
} from "../../../control/balancer/readiness.ts";

const thresholds = { successThreshold: 2, failureThreshold: 3 };

/** What is seen after these answers, one a second: + is good, - bad, ! a refused connection. */
const after = (answers: string): Seen =>
  [...answers].reduce((seen, answer, index) => {
    const now = (index + 1) * 1_000;
    if (answer === "!") return afterRefusal(seen, now);
    return afterAnswer(seen, answer === "+" ? null : "503", thresholds, now);
  }, nothingSeen(0));

const cases: [
  answers: string,
  readiness: Seen["readiness"],
  since: number,
  failing: number | null,
][] = [
  ["", "unknown", 0, null],
  ["+", "unknown", 0, null],
  ["++", "ready", 2_000, null],
  ["+++", "ready", 2_000, null],
  ["+-+", "unknown", 0, null],
  ["-----", "unknown", 0, 1_000],
  ["--++", "ready", 4_000, null],
  ["++--", "ready", 2_000, 3_000],
  ["++--+--", "ready", 2_000, 6_000],
  ["++---", "not_ready", 5_000, 3_000],
  ["++----", "not_ready", 5_000, 3_000],
  ["++---+", "not_ready", 5_000, null],
  ["++---++", "ready", 7_000, null],
  ["++!", "not_ready", 3_000, 3_000],
  ["++-!", "not_ready", 4_000, 3_000],
  ["++!+", "not_ready", 3_000, null],
  ["!", "unknown", 0, 1_000],
];

for (const [answers, readiness, since, failingSince] of cases)
  test(`after "${answers}" a replica is ${readiness}`, () => {
    const seen = after(answers);
    assert.deepEqual(
      [seen.readiness, seen.since, seen.failingSince],
      [readiness, since, failingSince],
    );
    const last = answers.at(-1);
    assert.equal(seen.problem, last === "!" ? "refused" : last === "-" ? "503" : null);
  });

test("only what reports show is news", () => {
  assert.ok(!isNews(after("++"), after("+++")));
  assert.ok(!isNews(after("++---"), after("++----")));
  assert.ok(isNews(after("++"), after("++-")));
  assert.ok(isNews(after("+"), after("++")));
  assert.ok(isNews(after("++-"), afterAnswer(after("++-"), "timeout", thresholds, 9_000)));
});
