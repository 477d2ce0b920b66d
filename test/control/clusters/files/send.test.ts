import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { bringContents } from "../../../../control/clusters/files/send.ts";
import type { Agent } from "../../../../control/doors/agent.ts";
import { sha256Of } from "../../../helpers/files.ts";

test("what a node fetches is named to it as it reads, so that other work has its turn", async () => {
  const contents = Array.from({ length: 10_000 }, (_, at) => ({
    sha256: sha256Of(`${at}`),
    size: 1,
  }));
  let named = 0;
  let namedAtFirst = 0;
  let lines = "";
  const open = async (...[, , , body]: Parameters<Agent["open"]>) => {
    for await (const chunk of body as Readable) {
      namedAtFirst ||= named;
      lines += chunk;
    }
    return { body: Readable.from([Buffer.from('{"problem":null}\n')]) };
  };
  const receiver = {
    ...{ agent: { open } as unknown as Agent, rank: 0, name: "~/x" },
    ...{ tell() {}, heard() {}, signal: new AbortController().signal },
  };
  const sourceOf = (content: (typeof contents)[number]) => {
    named += 1;
    const source = { name: "s3://bucket/key", url: "https://store.example/key", headers: {} };
    return { ...content, ...source, version: null, hasRanges: true, digest: null };
  };

  await bringContents(receiver, { entries: [], contents: { by: "node", sourceOf } }, contents);

  assert.equal(lines.trimEnd().split("\n").length, contents.length);
  assert.ok(namedAtFirst < contents.length / 2, `${namedAtFirst} were named at once`);
});
