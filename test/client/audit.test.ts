import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import * as z from "zod";
import { commandLine } from "./command-line.ts";
import { fakeControl, type Handler, sendJson } from "./fake-control.ts";

const now = Date.now() / 1_000;
const hourSeconds = 3_600;
const whole = 2_500;

/** The entry of a number: one an hour, the newest now. */
const entryOf = (seq: number) => ({
  ...{ seq, at: now - (whole - seq) * hourSeconds, user_id: "u1", user_name: "ana" },
  ...{ credential: "token ci", address: "10.0.0.1", operation: "stop", subject: `cluster c${seq}` },
  ...{ outcome: seq % 2 === 0 ? "refused" : "allowed", reason: seq % 2 === 0 ? "not yours" : null },
  ...{ request_id: null, hash: `h${seq}` },
});

const page: Handler = ({ query }, res) => {
  const before = Number(query.get("before") ?? whole + 1);
  const length = Math.min(Number(query.get("limit")), before - 1);
  sendJson(res, 200, { entries: Array.from({ length }, (_, at) => entryOf(before - 1 - at)) });
};

async function bed(t: TestContext, verdicts: readonly object[] = []) {
  const left = [...verdicts];
  const control = await fakeControl(t, {
    "GET /audit": page,
    "GET /audit/verify": (_seen, res) => sendJson(res, 200, left.shift()),
  });
  return { control, outrigger: await commandLine(t, control.endpoint) };
}

test("`outrigger audit` lists who did what, and why something was refused", async (t) => {
  const { outrigger, control } = await bed(t);

  const { stdout } = await outrigger(["audit", "--limit", "2", "--user", "ana", "--refused"]);

  assert.match(stdout, /^WHEN +USER +OPERATION +SUBJECT +OUTCOME/);
  assert.match(stdout, /ana +stop +cluster c2500 +refused: not yours/);
  assert.match(stdout, /ana +stop +cluster c2499 +allowed/);
  const [{ query } = { query: new URLSearchParams() }] = control.to("GET /audit");
  assert.deepEqual(Object.fromEntries(query), { limit: "2", user: "ana", refused: "true" });
});

test("-o ndjson exports all entries, page by page, an object a line", async (t) => {
  const { outrigger, control } = await bed(t);
  const schema = join(import.meta.dirname, "../../docs/schemas/audit-entry.json");

  const { stdout } = await outrigger(["audit", "-o", "ndjson"]);

  const lines = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.map(({ seq }) => seq),
    Array.from({ length: whole }, (_, at) => whole - at),
  );
  z.fromJSONSchema(JSON.parse(readFileSync(schema, "utf8"))).parse(lines[0]);
  assert.equal(control.to("GET /audit").length, 3);
});

test("--since leaves out what is older, and asks for no more", async (t) => {
  const { outrigger, control } = await bed(t);

  const { stdout } = await outrigger([
    "audit",
    "-o",
    "ndjson",
    "--since",
    "90m",
    "--fields",
    "seq",
  ]);
  const odd = await outrigger(["audit", "--since", "yesterday"]);

  assert.equal(stdout, '{"seq":2500}\n{"seq":2499}\n');
  assert.equal(control.to("GET /audit").length, 1);
  assert.deepEqual([odd.code, odd.stdout], [2, ""]);
});

test("-w lists the entries again whenever there are others, until Ctrl-C", async (t) => {
  let newest = 1;
  const control = await fakeControl(t, {
    "GET /audit": (_seen, res) => sendJson(res, 200, { entries: [entryOf(newest)] }),
  });
  const outrigger = await commandLine(t, control.endpoint);
  const interrupt = new AbortController();

  const { code, stdout } = await outrigger(["audit", "-w", "--refused", "--limit", "1"], {
    signal: interrupt.signal,
    onAnswer: (text) => {
      if (text.includes("c1 ")) newest = 2;
      if (text.includes("c2 ")) interrupt.abort();
    },
  });

  assert.equal(code, 130);
  assert.equal(stdout.match(/WHEN/g)?.length, 2);
  assert.match(stdout, /cluster c1 [\s\S]*cluster c2 /);
  assert.equal(control.to("GET /audit").at(-1)?.query.get("refused"), "true");
  for (const other of [["--verify"], ["-o", "ndjson"]])
    assert.equal((await outrigger(["audit", "-w", ...other])).code, 2, other.join(" "));
});

const stretch = { entries: 3, next: null, last_hash: "aa", has_expected: false, broken: null };

test("--verify checks one stretch after the other, and prints the last hash", async (t) => {
  const { outrigger, control } = await bed(t, [
    { ...stretch, next: 4 },
    { ...stretch, last_hash: "bb" },
  ]);

  const { code, stdout } = await outrigger(["audit", "--verify"]);

  assert.deepEqual([code, stdout], [0, "6 entries verified; hash of the last: bb\n"]);
  assert.deepEqual(
    control.to("GET /audit/verify").map(({ query }) => query.get("from")),
    [null, "4"],
  );
});

test("--verify exits with 1 at what is broken, and where no entry has the hash that was kept", async (t) => {
  const found = { ...stretch, has_expected: true, next: 4 };
  const { outrigger } = await bed(t, [
    { ...stretch, broken: "entry 4 is missing" },
    ...[found, stretch],
    stretch,
  ]);

  const broken = await outrigger(["audit", "--verify"]);
  const kept = await outrigger(["audit", "--verify", "--expect-hash", "AA"]);
  const cut = await outrigger(["audit", "--verify", "--expect-hash", "cc", "-o", "json"]);

  assert.equal(broken.code, 1);
  assert.match(broken.stderr, /The audit log is broken: entry 4 is missing\./);
  assert.equal(kept.code, 0);
  assert.equal(cut.code, 1);
  assert.match(JSON.parse(cut.stdout).broken, /^no entry has the hash cc/);
});
