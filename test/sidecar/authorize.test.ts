import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { authorizeBy } from "../../sidecar/authorize.ts";
import { newRequestHead, parseRequestHead } from "../../sidecar/head.ts";
import { openKeys } from "../../sidecar/keys.ts";
import { aKey, aSidecar, engines } from "./bed.ts";

const numRuns = Number(process.env["SIDECAR_CASES"] ?? 2_000);
const validKeys = ["alpha-key", "beta"];
const rules = {
  headBytes: 16_384,
  headCount: 100,
  stripAuthorization: false,
  trustForwarded: false,
};

/** Whether a request with these header lines is let through, by the parts that decide it. */
function isLetThrough(lines: readonly string[]): boolean {
  const bytes = Buffer.from(["GET / HTTP/1.1", ...lines, "", ""].join("\r\n"), "latin1");
  const head = newRequestHead(rules);
  const authorize = authorizeBy(openKeys(validKeys.map((key) => aKey(key))), []);
  const found = parseRequestHead(head, bytes, 0, bytes.length);
  return found === "complete" && authorize(head, bytes) !== undefined;
}

const anyCase = (word: string) =>
  fc
    .array(fc.boolean(), { minLength: word.length, maxLength: word.length })
    .map((flags) => [...word].map((one, i) => (flags[i] ? one.toUpperCase() : one)).join(""));

/** An Authorization line, and whether it holds a valid key. */
const keyLine = fc
  .tuple(
    anyCase("authorization"),
    fc.constantFrom("", " ", "\t"),
    fc.oneof(anyCase("bearer"), fc.constantFrom("basic", "", "bearer:")),
    fc.constantFrom(" ", " ", " ", "  ", "\t", ""),
    fc.oneof(
      fc.constantFrom(...validKeys),
      fc.constantFrom("", "alpha-ke", "alpha-keyy", "BETA", "beta beta", "gamma"),
    ),
    fc.constantFrom("", " ", "\t "),
  )
  .map(([name, before, scheme, blank, key, after]) => ({
    line: `${name}:${before}${scheme}${blank}${key}${after}`,
    isValid: /^bearer$/i.test(scheme) && blank === " " && validKeys.includes(key),
    isKeyLine: true,
  }));

const otherLine = fc
  .constantFrom(
    "Proxy-Authorization: Bearer beta",
    "X-Authorization: Bearer beta",
    "X-Api-Key: beta",
    "Cookie: authorization=Bearer beta",
    "Authorization2: Bearer beta",
  )
  .map((line) => ({ line, isValid: false, isKeyLine: false }));

const hostLine = { line: "Host: a", isValid: false, isKeyLine: false };

/** The lines of a request, and whether it is to be let through: with one key line, which is valid. */
const requests = fc
  .tuple(fc.array(fc.oneof(keyLine, otherLine), { maxLength: 4 }), fc.nat(4))
  .map(([some, at]) => {
    const all = some.toSpliced(at, 0, hostLine);
    const keyLines = all.filter(({ isKeyLine }) => isKeyLine);
    const wanted = keyLines.length === 1 && keyLines[0]?.isValid === true;
    return { lines: all.map(({ line }) => line), wanted };
  });

test("a request is let through if and only if it has exactly one key line, and that is valid", () => {
  let through = 0;

  fc.assert(
    fc.property(requests, ({ lines, wanted }) => {
      assert.equal(isLetThrough(lines), wanted);
      if (wanted) through += 1;
    }),
    { numRuns },
  );

  assert.ok(through > numRuns / 100, `only ${through} were let through`);
});

const forwardable = { lines: [hostLine.line, "Authorization: Bearer beta"], wanted: true };

for (const [name, engine] of Object.entries(engines))
  test(`${name}: what comes over a socket is forwarded if and only if it is let through`, async (t) => {
    const keys = validKeys.map((key) => aKey(key));
    const bed = await aSidecar(t, engine, { keys });
    let forwarded = 0;

    await fc.assert(
      fc.asyncProperty(requests, async ({ lines, wanted }) => {
        const wire = bed.dial();
        wire.send(["GET / HTTP/1.1", ...lines, "", ""].join("\r\n"));
        const answer = await wire.answer();
        wire.socket.destroy();

        assert.match(answer, wanted ? /^HTTP\/1\.1 200 / : /^HTTP\/1\.1 40[01] /);
        if (wanted) forwarded += 1;
        assert.equal(bed.upstream.requests.length, forwarded);
      }),
      { numRuns: Math.ceil(numRuns / 20), examples: [[forwardable]] },
    );
  });

const longKey = "k".repeat(4_000);
/** Headers that hold wrong keys, of which so much is right. */
const nearly = [0, 1_000, 2_000, 3_999].map((right) =>
  Buffer.from(`Bearer ${longKey.slice(0, right)}${"x".repeat(longKey.length - right)}`),
);

test("a wrong key is looked at to its end, however much of it was right", () => {
  const keys = openKeys([aKey(longKey), aKey("other")]);

  const looks = nearly.map((header) => {
    let count = 0;
    const get = (bytes: Buffer, name: string | symbol) => {
      count += 1;
      return Reflect.get(bytes, name);
    };
    assert.equal(keys.find(new Proxy(header, { get }), 0, header.length), undefined);
    return count;
  });

  assert.ok((looks[0] ?? 0) >= longKey.length);
  assert.equal(new Set(looks).size, 1, looks.join(" "));
});

test("how long a wrong key is looked at says nothing of how much of it was right", () => {
  const keys = openKeys([aKey(longKey)]);
  const tookMs = nearly.map(() => Number.POSITIVE_INFINITY);
  const isEven = () => Math.min(...tookMs) > 0.8 * Math.max(...tookMs);

  // The quickest of each: what the machine does besides can only slow it down, for a while.
  for (let round = 0; round < 40 || (round < 20_000 && !isEven()); round++)
    for (const [index, header] of nearly.entries()) {
      const startedAt = performance.now();
      for (let i = 0; i < 20; i++) assert.equal(keys.find(header, 0, header.length), undefined);
      tookMs[index] = Math.min(tookMs[index] ?? 0, performance.now() - startedAt);
    }

  assert.ok(isEven(), tookMs.join(" "));
});
