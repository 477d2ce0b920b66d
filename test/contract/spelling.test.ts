import assert from "node:assert/strict";
import { test } from "node:test";
import { hintOf } from "../../contract/spelling.ts";

const known = ["f", "dev", "train", "train-2", "num_nodes", "disk_size", "max_size"];

/** What was written, and what is told. */
const words: readonly [string, string][] = [
  ["dve", "did you mean `dev`?"],
  ["DEV", "did you mean `dev`?"],
  ["trains", "did you mean `train`?"],
  ["train-3", "did you mean `train-2`?"],
  ["nowhere", "look"],
  ["nodes", "did you mean `num_nodes`?"],
  ["size", "look"],
  ["g", "look"],
  ["de", "did you mean `dev`?"],
  ["", "look"],
  ["d".repeat(41), "look"],
];

for (const [word, told] of words)
  test(`whoever writes ${JSON.stringify(word)} is told: ${told}`, () => {
    assert.equal(hintOf(word, known, "look"), told);
  });
