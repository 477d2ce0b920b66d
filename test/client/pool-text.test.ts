import assert from "node:assert/strict";
import { test } from "node:test";
import { readPools } from "../../client/pool-text.ts";

/** A text, and what is said of it. */
const refusals: readonly [string, string[]][] = [
  [
    "lab:\n  usr: ana\n  hosts: [a, {ipp: b}, {user: bob}, 7]\n  port: 0\n",
    [
      "2:3: lab.usr: unknown field `usr`; did you mean `user`?",
      "3:15: lab.hosts[1].ipp: unknown field `ipp`; did you mean `ip`?",
      "3:24: lab.hosts[2]: needs `ip`",
      '3:37: lab.hosts[3]: must be text; write it in quotes: "7"',
      "4:3: lab.port: must be a whole number from 1 to 65535",
    ],
  ],
  ["lab: []\n", ["1:1: lab: must be the fields of a pool: `{user: ana, hosts: [10.0.0.5]}`"]],
  ["lab: {hosts: a}\n", ["1:7: lab.hosts: must be a list of hosts: [10.0.0.5]"]],
  ["", ["1:1: must map names of pools to their fields: `lab: {hosts: [10.0.0.5]}`"]],
  ["a: 1\n b: 2\n", ["1:4: not valid YAML: a value holds `: `, or the line below is "]],
  ["lab: {}\nlab: {}\n", ["2:1: lab: `lab` is given on lines 1 and 2; keep one of them"]],
];

for (const [text, told] of refusals)
  test(`the pools ${JSON.stringify(text)} are refused by line and column`, () => {
    const refused = (error: Error) => {
      const [first, ...lines] = error.message.split("\n");
      assert.equal(first, "p.yaml cannot be used as it is:");
      assert.equal(lines.length, told.length, error.message);
      for (const [at, line] of told.entries())
        assert.ok(lines[at]?.startsWith(`p.yaml:${line}`), error.message);
      return error.name === "UsageError";
    };
    assert.throws(() => readPools("p.yaml", text), refused);
  });

test("fields that nobody here knows are for control to judge", () => {
  const pools = { lab: { hosts: ["a", { ip: "b", drain: "now" }], "x-note": 1, password: null } };

  assert.deepEqual(readPools("p.yaml", JSON.stringify(pools)), pools);
});
