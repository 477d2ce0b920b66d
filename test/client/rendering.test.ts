import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, type Column, count, cut, duration, sheet, table } from "../../client/rendering.ts";
import type { Paint } from "../../client/terminal.ts";

interface Row {
  readonly name: string;
  readonly jobs: number;
  readonly what: string;
}

const plain: Paint = (_style, text) => text;
const columns: readonly Column<Row>[] = [
  { title: "NAME", text: (row) => row.name, gives: true },
  { title: "JOBS", text: (row) => String(row.jobs), right: true },
  { title: "WHAT", text: (row) => row.what, gives: true },
];
const rows: readonly Row[] = [
  { name: "dev", jobs: 3, what: "8x H100 on a very long machine type name" },
  { name: "a-cluster-with-a-long-name", jobs: 12, what: "CPU\nonly" },
];

test("a table without limits shows everything on one line a row", () => {
  assert.equal(
    table(columns, rows, { width: Number.POSITIVE_INFINITY, paint: plain }),
    [
      "NAME                        JOBS  WHAT",
      "dev                            3  8x H100 on a very long machine type name",
      "a-cluster-with-a-long-name    12  CPU only",
    ].join("\n"),
  );
});

for (const width of [8, 20, 40, 60, 80])
  test(`no line of a table is wider than ${width}`, () => {
    const lines = table(columns, rows, { width, paint: plain }).split("\n");

    assert.equal(lines.length, 3);
    for (const line of lines) assert.ok([...line].length <= width, line);
    assert.ok(lines[1]?.startsWith("dev"));
  });

test("the widest column that gives is cut, with an ellipsis", () => {
  const [, first] = table(columns, rows, { width: 60, paint: plain }).split("\n");

  assert.equal(first, "dev                            3  8x H100 on a very long ma…");
});

test("colour does not move anything", () => {
  const coloured: readonly Column<Row>[] = [
    { title: "NAME", text: (row) => row.name, style: () => "green" },
    { title: "JOBS", text: (row) => String(row.jobs) },
  ];
  const paint: Paint = (_style, text) => `\u001b[32m${text}\u001b[39m`;

  const lines = table(coloured, [{ name: "dev", jobs: 3, what: "" }], { width: 80, paint });

  assert.equal(lines.split("\n")[1], "\u001b[32mdev \u001b[39m  3");
});

test("what a cluster wrote cannot steer the terminal", () => {
  const nasty = [{ name: "\u001b[2Jdev", jobs: 0, what: "" }];

  assert.ok(!table(columns, nasty, { width: 80, paint: plain }).includes("\u001b"));
});

test("words for times and counts", () => {
  const now = new Date(1_000_000_000_000);

  assert.equal(duration(7_509), "2h 5m");
  assert.equal(duration(0.4), "0s");
  assert.equal(duration(null), "-");
  assert.equal(ago(1_000_000_000 - 130, now), "2m ago");
  assert.equal(ago(1_000_000_000, now), "just now");
  assert.equal(ago(0, now), "-");
  assert.equal(count(1, "cluster"), "1 cluster");
  assert.equal(cut("naïveté", 5), "naïv…");
  assert.equal(
    sheet(
      [
        ["A", "1"],
        ["Long", "2"],
        ["None", ""],
      ],
      plain,
    ),
    "A     1\nLong  2",
  );
});
