import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sha256Of } from "../../helpers/files.ts";
import { skipTraced as skip, traced } from "../../helpers/traced.ts";
import { idOf, zipOf } from "./zips.ts";

const program = join(import.meta.dirname, "keeps-upload.ts");

test("an upload is completed once its contents, its manifest and their folders are on disk", {
  skip,
}, async (t) => {
  const root = mkdtempSync(join(tmpdir(), "flushed-"));
  t.after(() => rmSync(root, { recursive: true }));
  const members = { a: "one", b: "two" };
  const blob = idOf(members);
  const archive = join(root, "archive");
  writeFileSync(archive, await zipOf(members));

  const { at, flushed, said, inOrder } = traced(t, program, join(root, "clients"), archive, blob);

  // The whole archive stands in for its chunks once it has its name.
  inOrder(
    flushed(`/parts/${blob}/whole.zip.new`),
    at(`/u1/files/parts/${blob}/whole.zip"`),
    flushed(`/parts/${blob}`),
  );
  // Folders are new, and their names lie in those above them.
  for (const folder of ["/clients/u1/files", "/clients/u1", "/clients"])
    inOrder(flushed(folder), said("completed"));
  const named = (path: string) => at(`/u1/files/${path}"`);
  for (const sha256 of Object.values(members).map(sha256Of))
    inOrder(
      flushed(`/parts/${blob}/contents/${sha256}`),
      named(`contents/${sha256}`),
      flushed("/files/contents"),
      named(`blobs/${blob}`),
    );
  inOrder(
    flushed(`/blobs/${blob}.new`),
    named(`blobs/${blob}`),
    flushed("/files/blobs"),
    said("completed"),
  );
});
