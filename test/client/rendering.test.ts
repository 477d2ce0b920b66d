import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, type Column, cut, duration, sheet, table } from "../../client/rendering.ts";
import type { Paint } from "../../client/terminal.ts";
import { count } from "../../common/count.ts";

interface Row {
  readonly name: string;
  readonly jobs: number;
  readonly what: string;
}

const plain: Paint = (_style, text) => text;
const columns: readonly Column<Row>[] = [
  { title: "NAME", text: (row) => row.name, least: 12 },
  { title: "JOBS", text: (row) => String(row.jobs), right: true },
  { title: "WHAT", text: (row) => row.what, least: 6 },
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

test("where room is short the widest column is cut first, with an ellipsis", () => {
  const of = (width: number) => table(columns, rows, { width, paint: plain }).split("\n");

  assert.deepEqual(of(60).slice(1), [
    "dev                            3  8x H100 on a very long ma…",
    "a-cluster-with-a-long-name    12  CPU only",
  ]);
  assert.deepEqual(of(30).slice(1), [
    "dev              3  8x H100 o…",
    "a-cluster-w…    12  CPU only",
  ]);
});

test("a column that wraps goes on below, between words where that can be", () => {
  const wrapping = columns.map((one) =>
    one.title === "WHAT" ? { ...one, wraps: true as const } : one,
  );
  const long = { name: "dev", jobs: 3, what: "a b-word-that-is-longer-than-the-line c" };

  assert.deepEqual(
    table(wrapping, [long, ...rows.slice(1)], { width: 32, paint: plain }).split("\n"),
    [
      "NAME          JOBS  WHAT",
      "dev              3  a",
      "                    b-word-that-",
      "                    is-longer-th",
      "                    an-the-line",
      "                    c",
      "a-cluster-w…    12  CPU only",
    ],
  );
});

test("columns that are spare go before names become too short to type", () => {
  const spare: readonly Column<Row>[] = [
    { title: "NAME", text: (row) => row.name, least: 26 },
    { title: "JOBS", text: (row) => String(row.jobs), right: true, spare: true },
    { title: "WHAT", text: (row) => row.what, least: 10 },
    { title: "HOW", text: () => "well", spare: true },
  ];
  const of = (width: number) => table(spare, rows, { width, paint: plain }).split("\n")[0];

  assert.match(of(50) ?? "", /^NAME +JOBS +WHAT +HOW$/);
  assert.match(of(49) ?? "", /^NAME +JOBS +WHAT$/);
  assert.match(of(40) ?? "", /^NAME +WHAT$/);
  assert.match(of(30) ?? "", /^NAME$/);
});

test("a table may have very many rows", () => {
  const many = Array<Row>(200_000).fill({ name: "dev", jobs: 1, what: "" });

  assert.equal(table(columns, many, { width: 80, paint: plain }).split("\n").length, 200_001);
});

test("colour does not move anything", () => {
  const coloured: readonly Column<Row>[] = [
    { title: "NAME", text: (row) => row.name, style: () => "green" },
    { title: "JOBS", text: (row) => String(row.jobs) },
  ];
  const paint: Paint = (_style, text) => `\u001b[32m${text}\u001b[39m`;

  const lines = table(coloured, [{ name: "dev", jobs: 3, what: "" }], { width: 80, paint });

  assert.equal(lines.split("\n")[1], "\u001b[32mdev\u001b[39m   3");
});

test("what a cluster wrote cannot steer the terminal", () => {
  const nasty = [{ name: "\u001b[2Jdev", jobs: 0, what: "" }];

  assert.ok(!table(columns, nasty, { width: 80, paint: plain }).includes("\u001b"));
});

test("words for times and counts", () => {
  const now = new Date(1_000_000_000_000);

  assert.equal(duration(7_509), "2h 5m");
  assert.equal(duration(1_104 * 86_400 + 125), "1104d 0h");
  assert.equal(duration(60), "1m 0s");
  assert.equal(duration(42.9), "42s");
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

test("a column that is the last to shrink keeps its room before one that is narrower", () => {
  const two: Column<string>[] = [
    { title: "A", text: () => "a".repeat(30), least: 5, last: true },
    { title: "B", text: () => "b".repeat(20), least: 5 },
  ];
  const at = (width: number) => table(two, ["row"], { width, paint: plain });

  assert.match(at(40), /a{30} {2}b{7}…$/);
  assert.match(at(20), /a{12}… {2}b{4}…$/);
});
