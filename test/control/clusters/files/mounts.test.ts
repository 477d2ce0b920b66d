import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { mountsOf } from "../../../../control/clusters/files/mounts.ts";
import { readTask } from "../../../../control/task.ts";

const mounts = (task: string) => mountsOf(readTask(`${task}\nrun: train`, "launch"), "all");

test("a file of a web server is fetched with the login in its address, and without keys of stores", () => {
  const { fetched } = mounts(
    "file_mounts: {~/m: https://ana:$TOKEN@files.example/m}\nsecrets: {TOKEN: hunter2, AWS_ACCESS_KEY_ID: a}",
  );

  const uri = "https://ana:hunter2@files.example/m";
  assert.deepEqual(fetched, [{ name: "~/m", destination: "~/m", uri, keys: undefined }]);
});

for (const [what, task] of [
  ["a file", "file_mounts: {~/m: https://ana:$TOKEN@files.example/m}\nsecrets: {TOKEN: hun/ter2}"],
  ["a repository", "workdir: {url: https://ana:hun/ter2@git.example/app}"],
  ["a repository's badly encoded login", "workdir: {url: https://ana:hun%ter2@git.example/app}"],
] as const)
  test(`an address of ${what} that is none is refused, and no error has its login`, () => {
    assert.throws(
      () => mounts(task),
      (error: Error & { type?: string }) => {
        assert.equal(error.type, "ValueError");
        assert.match(error.message, /its address is not valid; write \/ /);
        assert.doesNotMatch(inspect(error, { depth: 9 }), /ter2/);
        return true;
      },
    );
  });

test("a digest that cannot be one is refused, and its letter case does not matter", () => {
  const at = (hash: string) => mounts(`file_mounts: { ~/x: "https://files.example/a${hash}" }`);

  for (const hash of ["#sha256=abc", `#SHA256=${"g".repeat(64)}`])
    assert.throws(() => at(hash), { message: /~\/x: #sha256= needs the 64 hexadecimal digits/ });
  assert.equal(at(`#sha256=${"A".repeat(64)}`).fetched.length, 1);
});

test("an address without a bucket is refused", () => {
  assert.throws(() => mounts("file_mounts: { ~/x: { source: s3://, mode: COPY } }"), {
    message: /names no bucket|must/,
  });
  assert.throws(() => mounts("file_mounts: { ~/x: s3:// }"), {
    message: "~/x: s3:// names no bucket; write s3://BUCKET/PATH",
  });
});
