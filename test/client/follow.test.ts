import assert from "node:assert/strict";
import { test } from "node:test";
import { follow, type OpenStream } from "../../client/follow.ts";
import { AppError } from "../../common/errors.ts";
import { controlLine } from "./fake-control.ts";

const lost = () => new AppError("UnreachableError", "lost the connection");
const signal = new AbortController().signal;
const delaysMs = [0, 0, 0];

/** A stream that sends these texts and then ends, or breaks when it is told to. */
function streamOf(firstByte: number, texts: readonly string[], breaks = false): OpenStream {
  async function* body() {
    for (const text of texts) yield Buffer.from(text);
    if (breaks) throw lost();
  }
  return { firstByte, body: body() };
}

function recorder() {
  const shown = { text: "", steps: [] as string[] };
  const sink = {
    write(bytes: Buffer) {
      shown.text += bytes.toString();
    },
    control: (_code: string, message: string) => void shown.steps.push(message),
  };
  return { shown, sink };
}

test("a replayed stream goes on where it broke off and repeats nothing", async () => {
  const { shown, sink } = recorder();
  const step = (text: string) => controlLine("rich_update", text);
  const opens = [
    streamOf(0, [step("a"), "one\ntw"], true),
    streamOf(0, [step("a"), "one\n", step("b"), "two\nthree\n"]),
  ];

  await follow(async () => opens.shift() as OpenStream, sink, { signal, delaysMs });

  assert.equal(shown.text, "one\ntwo\nthree\n");
  assert.deepEqual(shown.steps, ["a"]);
});

test("a stream with a byte offset is asked for the next byte only", async () => {
  const { shown, sink } = recorder();
  const asked: (number | undefined)[] = [];
  const whole = "0123456789\nabc\n";
  const open = async (from: number | undefined) => {
    asked.push(from);
    const start = from ?? 5;
    const heartbeat = asked.length === 1 ? [] : [controlLine("heartbeat")];
    const cut = asked.length < 3;
    const texts = [whole.slice(start, cut ? start + 3 : undefined)];
    return streamOf(start, from === undefined ? texts : [...texts, ...heartbeat], cut);
  };

  await follow(open, sink, { signal, delaysMs });

  assert.deepEqual(asked, [undefined, 8, 11]);
  assert.equal(shown.text, whole.slice(5));
});

test("the control line `retry` opens the stream again", async () => {
  const { shown, sink } = recorder();
  const opens = [streamOf(0, ["one\n", controlLine("retry")]), streamOf(0, ["one\ntwo\n"])];

  await follow(async () => opens.shift() as OpenStream, sink, { signal, delaysMs });

  assert.equal(shown.text, "one\ntwo\n");
});

test("three tries in a row without anything new are enough", async () => {
  const { shown, sink } = recorder();
  let opened = 0;
  const open = async () => {
    opened += 1;
    return streamOf(0, ["one\n"], true);
  };

  await assert.rejects(follow(open, sink, { signal, delaysMs }), { name: "UnreachableError" });

  assert.equal(opened, 4);
  assert.equal(shown.text, "one\n");
});

test("an interruption that lasts is told once, a short one is not", async () => {
  const { shown, sink } = recorder();
  const told: string[] = [];
  const opens = [
    () => streamOf(0, ["one\n"], true),
    () => streamOf(0, ["one\ntwo\n"], true),
    () => Promise.reject(lost()),
    () => Promise.reject(lost()),
    () => streamOf(0, ["one\ntwo\nthree\n"]),
  ];
  const open = async () => (opens.shift() as () => OpenStream)();

  await follow(open, { ...sink, away: () => void told.push(shown.text) }, { signal, delaysMs });

  assert.deepEqual(told, ["one\ntwo\n"]);
  assert.equal(shown.text, "one\ntwo\nthree\n");
});

test("new text gives new patience", async () => {
  const { shown, sink } = recorder();
  const letters = "abcdefgh";
  let opened = 0;
  const open = async () => {
    opened += 1;
    return streamOf(0, [letters.slice(0, opened)], opened < letters.length);
  };

  await follow(open, sink, { signal, delaysMs });

  assert.equal(shown.text, letters);
});

test("what was never open is not tried again, nor what will not pass", async () => {
  const { sink } = recorder();
  let opened = 0;
  const never = async () => {
    opened += 1;
    throw lost();
  };

  await assert.rejects(follow(never, sink, { signal, delaysMs }), { name: "UnreachableError" });
  assert.equal(opened, 1);

  const opens = [() => streamOf(0, ["one\n"], true), () => Promise.reject(gone)];
  const gone = new AppError("NotFoundError", "no such request");
  const open = async () => (opens.shift() as () => OpenStream)();
  await assert.rejects(follow(open, sink, { signal, delaysMs }), gone);
});
