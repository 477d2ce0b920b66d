import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { openMasker } from "../../../agent/mask.ts";

/** The text after it went through. */
function masked(text: string, secrets: string[], borders = {}): string {
  const bytes = Buffer.from(text);
  openMasker(secrets).mask(bytes, borders);
  return bytes.toString();
}

test("every occurrence of a secret of six characters or more becomes stars of its length", () => {
  assert.equal(masked("a=hunter22, b=hunter22\n", ["hunter22"]), "a=********, b=********\n");
  assert.equal(masked("aaaaaaaa-b", ["aaaaaa"]), "********-b");
  assert.equal(masked("abcdefghij", ["abcdef", "defghi"]), "*********j");
  assert.equal(masked("short abc", ["abc", ""]), "short abc");
  assert.equal(masked("pässword", ["pässword"]), "*********");
  assert.equal(masked("line one\nline two\n", ["one\nline"]), "line ******** two\n");
});

test("at a border the rest of a secret that was cut is hidden too", () => {
  assert.equal(masked("ter22 hunter22 hun", ["hunter22"]), "ter22 ******** hun");
  assert.equal(masked("ter22 hunter22 hun", ["hunter22"], { start: true }), "***** ******** hun");
  assert.equal(masked("ter22 hunter22 hun", ["hunter22"], { end: true }), "ter22 ******** ***");
});

test("what may be the beginning of a secret is held back", () => {
  const { openAtEnd, reach } = openMasker(["hunter22", "terrible"]);

  assert.equal(reach, 7);
  assert.equal(openAtEnd(Buffer.from("say hunter2")), 7);
  assert.equal(openAtEnd(Buffer.from("say hunter22")), 0);
  assert.equal(openAtEnd(Buffer.from("say hunter")), 6);
  assert.equal(openAtEnd(Buffer.from("")), 0);
});

test("pieces that see as far as they reach are masked as the whole is", () => {
  const anyText = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 60 });
  const anySecret = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 6, maxLength: 9 });
  fc.assert(
    fc.property(anyText, fc.array(anySecret, { maxLength: 3 }), fc.nat(60), (text, secrets, at) => {
      const masker = openMasker(secrets);
      const cut = Math.min(at, text.length);
      const first = Buffer.from(text.slice(0, cut + masker.reach));
      const from = Math.max(0, cut - masker.reach);
      const second = Buffer.from(text.slice(from));
      masker.mask(first);
      masker.mask(second);
      const pieces = `${first.toString().slice(0, cut)}${second.toString().slice(cut - from)}`;

      assert.equal(pieces, masked(text, secrets));
    }),
  );
});
