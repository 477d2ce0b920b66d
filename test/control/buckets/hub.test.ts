import assert from "node:assert/strict";
import { test } from "node:test";
import { readHubAddress } from "../../../control/buckets/hub.ts";

test("an address of the hub names a repository, a revision and a path", () => {
  const read = (uri: string) => Object.values(readHubAddress("/d", uri)).join(" ");

  assert.equal(read("hf://ana/tiny"), "models ana/tiny main ");
  assert.equal(read("HF://models/ana/tiny@v1/"), "models ana/tiny v1 ");
  assert.equal(read("hf://datasets/ana/t.1-b@v1//a b/c//"), "datasets ana/t.1-b v1 a b/c");
  for (const uri of ["hf://ana", "hf://ana/tiny@", "hf://ana/ti ny", "hf://ana/tiny/a\nb"])
    assert.throws(() => read(uri), { name: "ValueError", message: /write hf:\/\/OWNER/ });
});

test("an address of the hub with many slashes is refused at once", () => {
  const before = process.cpuUsage();
  for (const count of [900, 100_000])
    assert.throws(() => readHubAddress("/d", `hf://a/b${"/".repeat(count)}\nx`), /write hf/);

  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 100_000, "took too long");
});
