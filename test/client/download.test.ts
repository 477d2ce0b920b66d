import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { basename, dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { partOf } from "../../client/fetch-part.ts";
import { until } from "../helpers/agent.ts";
import { commandLine } from "./command-line.ts";
import { fakeControl, type Handler, type Seen, sendJson } from "./fake-control.ts";

const aFile = (path: string, text: string) => ({
  kind: "file",
  path,
  size: text.length,
  mode: 0o644,
  sha256: createHash("sha256").update(text).digest("hex"),
});
const root = { kind: "folder", path: "" };

interface Asked {
  readonly answer: "list" | "contents";
  readonly stretches: readonly { path: string; offset: number; end: number }[];
}
const askedOf = ({ body }: Seen) => body as unknown as Asked;

/** A control plane whose node lists these lines, and the command line. */
async function here(t: TestContext, entries: readonly unknown[], contents: Handler) {
  const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
  const answer: Handler = (seen, res) =>
    askedOf(seen).answer === "list" ? void res.end(lines) : contents(seen, res);
  const control = await fakeControl(t, { "POST /download": answer });
  const outrigger = await commandLine(t, control.endpoint);
  const asked = (what: Asked["answer"]) =>
    control.to("POST /download").filter((seen) => askedOf(seen).answer === what);
  const below = (...path: string[]) => join(outrigger.folder, ...path);
  return { outrigger, asked, below };
}

const never: Handler = (_seen, res) => sendJson(res, 500, { detail: "no content is wanted" });

/** Sends each stretch of a text. */
const sends =
  (text: string): Handler =>
  (seen, res) => {
    for (const { offset, end } of askedOf(seen).stretches)
      res.write(`${JSON.stringify({ bytes: end - offset })}\n${text.slice(offset, end)}`);
    res.end();
  };

test("a list that leads out of its folder is refused, and nothing is written", async (t) => {
  const lists = [
    [root, aFile("../x", "x")],
    [root, aFile("a/../../x", "x")],
    [root, aFile("/x", "x")],
    [root, { kind: "folder", path: ".." }],
    [root, { kind: "link", path: "a", target: "b" }, aFile("a/x", "x")],
    [root, aFile("a", "x"), aFile("a/x", "x")],
    [root, { kind: "link", path: "a", target: "b" }, { kind: "folder", path: "a" }],
    [root, aFile("a/x", "x")],
    [root, { kind: "pipe", path: "a" }],
    [{ kind: "link", path: "", target: "/" }, aFile("x", "x")],
  ];

  for (const list of lists) {
    const { outrigger, below } = await here(t, list, never);
    const { code, stderr } = await outrigger(["download", "dev:x", "in/here"]);
    assert.match(stderr, /a list that cannot be trusted/, JSON.stringify(list));
    assert.equal(code, 2);
    assert.ok(!existsSync(below("in")) && !existsSync(below("x")));
  }
});

test("links out are left out, those within come", async (t) => {
  const link = (path: string, target: string) => ({ kind: "link", path, target });
  const sub = { kind: "folder", path: "sub" };
  const links = [
    ...[link("a", "/etc"), link("b", "../x"), link("c", "..")],
    ...[sub, link("sub/d", "../../x"), link("sub/e", "../sub")],
  ];
  const { outrigger, below } = await here(t, [root, ...links], never);

  const { code, stderr } = await outrigger(["download", "dev:x", "here"]);

  assert.equal(code, 1);
  assert.deepEqual(stderr.match(/(?<=left out )\S+(?=:)/g), ["a", "b", "c", "sub/d"]);
  assert.deepEqual(readdirSync(below("here")), ["sub"]);
  assert.deepEqual(readdirSync(below("here/sub")), ["e"]);
});

test("what the node cannot read is named, and the rest comes", async (t) => {
  const closed = {
    kind: "unreadable",
    path: "closed",
    why: "the user of the node may not read it",
  };
  const list = [root, closed, aFile("open", "o")];
  const { outrigger, below } = await here(t, list, sends("o"));

  const { code, stderr } = await outrigger(["download", "dev:x", "here"]);

  assert.equal(code, 1);
  assert.match(stderr, /✗ left out closed: the user of the node may not read it/);
  assert.deepEqual(readdirSync(below("here")), ["open"]);
});

test("a download that breaks off goes on where it was", async (t) => {
  const text = "0123456789".repeat(10_000);
  const whole = sends(text);
  let isFirst = true;
  const { outrigger, asked, below } = await here(
    t,
    [root, aFile("a", text), aFile("b", text)],
    (seen, res) => {
      if (!isFirst) return whole(seen, res);
      isFirst = false;
      res.write(`{"bytes":${text.length}}\n${text.slice(0, 60_000)}`, () => res.destroy());
    },
  );

  const { code, stderr } = await outrigger(["download", "dev:x", "here"]);

  assert.equal(code, 0, stderr);
  for (const name of ["a", "b"]) assert.equal(readFileSync(below("here", name), "utf8"), text);
  assert.deepEqual(readdirSync(below("here")), ["a", "b"]);
  const [first, second] = asked("contents").map((seen) => askedOf(seen).stretches);
  assert.deepEqual(
    first?.map(({ offset }) => offset),
    [0, 0],
  );
  assert.ok((second?.[0]?.offset ?? 0) > 0);
  assert.equal(second?.[1]?.offset, 0);
  assert.equal(asked("list").length, 1);
});

test("a control plane that was never there is not waited for", async (t) => {
  let asked = 0;
  const server = createServer((socket) => {
    asked += 1;
    socket.destroy();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const outrigger = await commandLine(t, `http://127.0.0.1:${port}`);

  const { code } = await outrigger(["download", "dev:x"]);

  assert.deepEqual([code, asked], [7, 1]);
});

test("what came before Ctrl-C is kept, and the command says so", async (t) => {
  const abort = new AbortController();
  const { outrigger, below } = await here(t, [aFile("", "0123456789")], (_seen, res) => {
    res.write('{"bytes":10}\n01234');
  });
  const part = partOf(below("x"));

  const running = outrigger(["download", "dev:x"], { signal: abort.signal });
  await until(() => (existsSync(part) && readFileSync(part).length === 5) || undefined);
  abort.abort();
  const { code, stderr } = await running;

  assert.equal(code, 130);
  assert.match(stderr, /Partial files are kept; run the same command again to continue/);
  assert.deepEqual([dirname(part), readFileSync(part, "utf8")], [below(), "01234"]);
  assert.match(basename(part), /^\.outrigger-[0-9a-f]{16}\.part$/);
});

test("content that is not what was listed is not put anywhere", async (t) => {
  const { outrigger, asked, below } = await here(t, [root, aFile("a", "good")], sends("evil"));
  writeFileSync(below("a"), "mine");

  const { code, stderr } = await outrigger(["download", "dev:x", "."]);

  assert.equal(code, 5);
  assert.match(stderr, /dev:x keeps changing; run the command again when it has stopped/);
  assert.equal(readFileSync(below("a"), "utf8"), "mine");
  assert.equal(asked("list").length, 5);
  assert.deepEqual(
    readdirSync(below()).filter((name) => name.endsWith(".part")),
    [],
  );
});

test("files that do not fit are not begun", async (t) => {
  const { outrigger, asked } = await here(t, [root, { ...aFile("a", "x"), size: 2 ** 52 }], never);

  const { code, stderr } = await outrigger(["download", "dev:x", "here"]);

  assert.equal(code, 1);
  assert.match(stderr, /here has too little space: 4503\.6 TB needed, .* free/);
  assert.equal(asked("contents").length, 0);
});
