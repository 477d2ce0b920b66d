import assert from "node:assert/strict";
import { test } from "node:test";
import { formatIssues } from "../../contract/task/issues.ts";
import { readTask, type Task, type TaskDocument } from "../../contract/task.ts";

/** A document, and the lines that tell what is wrong with it. */
export type RefusedCase = readonly [text: string, ...lines: string[]];

/** One test a case: the document is refused with these lines and no others. */
export function testRefused(subject: string, cases: readonly RefusedCase[]): void {
  for (const [text, ...lines] of cases)
    test(`${subject}: ${JSON.stringify(text)} is refused`, () => {
      assert.deepEqual(issueLines(text), lines);
    });
}

/** What is wrong with a document, a line an issue. */
export function issueLines(text: string): string[] {
  const reading = readTask(text);
  return reading.ok ? [] : formatIssues(reading.issues).split("\n");
}

/** The document; fails the test when it is refused. */
export function documentOf(text: string): TaskDocument {
  const reading = readTask(text);
  assert.ok(reading.ok, reading.ok ? "" : formatIssues(reading.issues));
  return reading.document;
}

/** The only task of a document. */
export function taskOf(text: string): Task {
  const [task, ...others] = documentOf(text).tasks;
  assert.equal(others.length, 0);
  return task ?? assert.fail("no task");
}
