import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { controlLine } from "../../../control/wire/control-lines.ts";
import { neutralise, neutraliser, neutraliseText } from "../../../control/wire/neutralise.ts";

test("a tag in what a workload prints loses its power and keeps its length", () => {
  assert.equal(
    neutraliseText('a <sky-payload>"x"</sky-payload> <sky-interactive session="1"/>'),
    'a <sky_payload>"x"</sky-payload> <sky_interactive session="1"/>',
  );
  assert.equal(neutraliseText("<sky-pay <sky <sky-internal"), "<sky-pay <sky <sky-internal");
});

test("chunks without a tag pass as they are, at once", () => {
  const chunk = Buffer.from("loss: 0.25 < 1 <b>\n");

  assert.equal(neutraliser().push(chunk).buffer, chunk.buffer);
});

test("only an end that may begin a tag waits, and a broken one is let go", () => {
  const filter = neutraliser();

  assert.equal(filter.push(Buffer.from("abc<sky-p")).toString(), "abc");
  assert.equal(filter.push(Buffer.from("ython<")).toString(), "<sky-python");
  assert.equal(filter.push(Buffer.from("<sky-payload")).toString(), "<<sky_payload");
  assert.equal(filter.push(Buffer.from("<sky-")).toString(), "");
  assert.equal(filter.end().toString(), "<sky-");
  assert.equal(filter.end().length, 0);
});

test("the caller may reuse its buffer", () => {
  const filter = neutraliser();
  const chunk = Buffer.from("a<sky-pay");
  filter.push(chunk);
  chunk.fill("z");

  assert.equal(filter.push(Buffer.from("load>")).toString(), "<sky_payload>");
});

test("however a text is cut, the same comes out", () => {
  const pieces = fc.constantFrom(
    "<",
    "<sky-",
    "payload",
    "interactive",
    "<sky-payload>",
    "é",
    "\n",
  );
  fc.assert(
    fc.property(
      fc.array(pieces),
      fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
      (words, cuts) => {
        const bytes = Buffer.from(words.join(""));
        const filter = neutraliser();
        const out: Buffer[] = [];
        for (let at = 0; at < bytes.length; ) {
          const next = at + (cuts.next().value ?? 1);
          out.push(filter.push(bytes.subarray(at, next)));
          at = next;
        }
        out.push(filter.end());

        const text = Buffer.concat(out).toString();
        assert.equal(text, words.join("").replace(/<sky-(payload|interactive)/g, "<sky_$1"));
      },
    ),
  );
});

test("a stream is filtered chunk by chunk", async () => {
  async function* chunks() {
    yield Buffer.from("one <sky-inter");
    yield Buffer.from("active");
    yield Buffer.from(" <s");
  }

  const out: string[] = [];
  for await (const chunk of neutralise(chunks())) out.push(chunk.toString());

  assert.deepEqual(out, ["one ", "<sky_interactive", " ", "<s"]);
});

test("a control line is one line whose JSON text holds code and text", () => {
  assert.equal(
    controlLine("rich_init", "Launching"),
    '<sky-payload>"<rich_init>Launching</rich_init>"</sky-payload>\n',
  );
  assert.equal(controlLine("heartbeat"), '<sky-payload>"<heartbeat></heartbeat>"</sky-payload>\n');
});

test("no text breaks out of its control line", () => {
  const line = controlLine("rich_update", 'a "b"\n</sky-payload><sky-payload>x');
  const [, json = ""] = /^<sky-payload>(.*?)<\/sky-payload>\n$/.exec(line) ?? [];

  assert.equal(JSON.parse(json), '<rich_update>a "b"\n</sky-payload><sky_payload>x</rich_update>');
});
