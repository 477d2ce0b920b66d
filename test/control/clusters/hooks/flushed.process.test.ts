import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { skipTraced as skip, traced } from "../../../helpers/traced.ts";

const program = join(import.meta.dirname, "keeps-log.ts");

test("the copy of a hook log is whole once it, its state and their folders are on disk", {
  skip,
}, (t) => {
  const root = mkdtempSync(join(tmpdir(), "flushed-"));
  t.after(() => rmSync(root, { recursive: true }));

  const { at, flushed, said, inOrder } = traced(t, program, join(root, "hooks/l1/stop.log"));

  const saved = at('/hooks/l1/stop.json"');
  inOrder(flushed("/hooks"), flushed(root), flushed("/stop.log"), saved);
  inOrder(flushed("/stop.log"), saved, flushed("/hooks/l1"), said("finished"));
  // The name of the draft ends in a random id.
  inOrder(at("/stop.json."), saved);
});
