import assert from "node:assert/strict";
import { mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { AppError } from "../../common/errors.ts";
import { parseKeys } from "../../sidecar/key-file.ts";
import { followKeys, readKeys } from "../../sidecar/key-sources.ts";
import { type Key, openKeys, sha256 } from "../../sidecar/keys.ts";
import { aKey } from "./bed.ts";

const find = (keys: readonly Key[], value: string): string | undefined => {
  const bytes = Buffer.from(`Authorization: ${value}\r\nX-A: b\r\n`);
  const from = "Authorization: ".length;
  return openKeys(keys).find(bytes, from, from + value.length);
};

const failsWith = (run: () => unknown, message: RegExp) =>
  assert.throws(run, (error) => error instanceof AppError && message.test(error.message));

test("a key is found by its whole text, after the scheme in any case", () => {
  const keys = [aKey("first-key", "a"), aKey("second", "b")];

  assert.equal(find(keys, "Bearer first-key"), "a");
  assert.equal(find(keys, "bEARER second"), "b");
  for (const value of [
    "Bearer first-ke",
    "Bearer first-keyy",
    "Bearer",
    "Bearer ",
    "first-key",
    "",
  ])
    assert.equal(find(keys, value), undefined, value);
});

test("a digest stands for its key, and is no key itself", () => {
  const digest = sha256(Buffer.from("secret"));
  const keys: Key[] = [{ id: "d", secret: { sha256: digest } }, aKey("plain", "p")];

  assert.equal(find(keys, "Bearer secret"), "d");
  assert.equal(find(keys, "Bearer plain"), "p");
  assert.equal(find(keys, `Bearer ${digest.toString("hex")}`), undefined);
  assert.equal(find(keys, `Bearer sha256:${digest.toString("hex")}`), undefined);
});

test("many keys are found as few are", () => {
  const keys = Array.from({ length: 100 }, (_, index) => aKey(`key-${index}`));

  for (const { id } of keys) assert.equal(find(keys, `Bearer ${id}`), id);
  assert.equal(find(keys, "Bearer key-100"), undefined);
});

test("a key opens nothing from its expiry on", () => {
  const at = (offsetMs: number) => [
    { ...aKey("key", "a"), expiresAt: new Date(Date.now() + offsetMs) },
  ];

  assert.equal(find(at(60_000), "Bearer key"), "a");
  assert.equal(find(at(0), "Bearer key"), undefined);
  const still = { ...aKey("key", "b"), expiresAt: undefined };
  assert.equal(find([still, ...at(0)], "Bearer key"), "b");
  assert.equal(find([...at(0), still], "Bearer key"), "b");
});

test("a file of keys says what each is called, until when it holds, and what for", () => {
  const digest = sha256(Buffer.from("x")).toString("hex");
  const text = `# ours\n\nplain-key\nother id=team-a expires=2027-01-31T00:00:00Z note=of the team\r\nsha256:${digest} id=team-b\n`;

  const [first, second, third] = parseKeys(text, "keys");

  assert.deepEqual(first, {
    id: "keys:3",
    secret: { plain: Buffer.from("plain-key") },
    expiresAt: undefined,
    note: undefined,
  });
  assert.equal(second?.id, "team-a");
  assert.equal(second?.expiresAt?.toISOString(), "2027-01-31T00:00:00.000Z");
  assert.equal(second?.note, "of the team");
  assert.deepEqual(third?.secret, { sha256: Buffer.from(digest, "hex") });
  assert.equal(parseKeys("alone\n", "API_KEY")[0]?.id, "API_KEY");
  const [capitals] = parseKeys(`SHA256:${digest.toUpperCase()}`, "keys");
  assert.deepEqual(capitals?.secret, { sha256: Buffer.from(digest, "hex") });
});

test("a line that is not understood is refused, and not shown", () => {
  const wrong = {
    "two words": ["hidden other", /line 1 .* is not/],
    "an unknown field": ["hidden role=admin", /is not/],
    "no time": ["hidden expires=soon", /expires/],
    "a short digest": ["sha256:abc", /64/],
    "another digest": [`SHA-256:${"hidden".repeat(9)}`, /line 1 .* `sha256:` and 64/],
    "an id and no key": ["# ours\nid=hidden", /line 2 of the keys in keys has no key before/],
    "an expiry and no key": ["expires=hidden note=a", /line 1 .* has no key before/],
    "what no header can hold": ["hidd\u00e4n", /visible/],
    "a letter whose lower byte is one of ASCII": ["hidden\u0141", /visible/],
    "one id twice": ["a id=x\nb id=x", /two keys/],
  } as const;

  for (const [what, [text, message]] of Object.entries(wrong)) {
    failsWith(() => parseKeys(text, "keys"), message);
    assert.throws(
      () => parseKeys(text, "keys"),
      (error) => !String(error).includes("hidden"),
      what,
    );
  }
});

test("without a key nothing starts", () => {
  const none = { keyEnv: [], keyFile: [], key: [] };

  failsWith(() => readKeys(none, {}), /no key is configured/);
  failsWith(() => readKeys({ ...none, keyEnv: ["K"] }, { K: "" }), /K holds no key/);
  failsWith(() => readKeys({ ...none, keyFile: ["/nowhere/keys"] }, {}), /ENOENT/);
  failsWith(() => readKeys({ ...none, key: ["# nothing"] }, {}), /no key is configured/);
});

/** Keys that follow a file of a folder; `key` is read after it. */
function aFollowed(t: TestContext, key: readonly string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), "keys-"));
  const file = join(folder, "keys");
  writeFileSync(file, "one");
  const keys = openKeys();
  let wake = (_: string) => {};
  const log = { info: () => wake("read"), error: () => wake("kept") };
  const after = async (change: () => void) => {
    const next = new Promise<string>((resolve) => {
      wake = resolve;
    });
    change();
    return next;
  };
  return {
    folder,
    file,
    after,
    async follow() {
      const use = async (next: readonly Key[]) => keys.replace(next);
      const following = await followKeys(
        use,
        { keyEnv: [], keyFile: [file], key },
        {},
        log as never,
      );
      t.after(() => {
        following.stop();
        rmSync(folder, { recursive: true });
      });
    },
    opens: (key: string) =>
      keys.find(Buffer.from(`Bearer ${key}`), 0, key.length + 7) !== undefined,
    /** Puts a link in place of the file, at one go. */
    swap(to: string) {
      symlinkSync(to, join(folder, "link"));
      renameSync(join(folder, "link"), file);
    },
  };
}

test("a file that changes or is swapped is read anew; one that is broken changes nothing", async (t) => {
  const { folder, file, after, follow, opens, swap } = aFollowed(t);
  await follow();
  assert.equal(opens("one"), true);

  assert.equal(await after(() => writeFileSync(file, "two")), "read");
  assert.deepEqual([opens("one"), opens("two")], [false, true]);
  writeFileSync(join(folder, "next"), "six");
  assert.equal(await after(() => swap("next")), "read");
  assert.deepEqual([opens("two"), opens("six")], [false, true]);
  assert.equal(await after(() => rmSync(file)), "kept");
  assert.equal(opens("six"), true);
});

test("a file that cannot even be looked at changes nothing, and is read when it can", async (t) => {
  const { folder, file, after, follow, opens, swap } = aFollowed(t);
  await follow();

  assert.equal(await after(() => swap("keys")), "kept", "a link to itself");
  assert.equal(opens("one"), true);
  writeFileSync(join(folder, "next"), "two");
  assert.equal(await after(() => renameSync(join(folder, "next"), file)), "read");
  assert.deepEqual([opens("one"), opens("two")], [false, true]);
});

test("a file is read anew whatever time of change it was given", async (t) => {
  const { file, after, follow, opens } = aFollowed(t);
  const longAgo = new Date(0);
  utimesSync(file, longAgo, longAgo);
  await follow();

  const change = () => {
    writeFileSync(file, "two");
    utimesSync(file, longAgo, longAgo);
  };
  assert.equal(await after(change), "read");
  assert.equal(opens("two"), true);
});

test("a file that changes while the keys are read for the first time is read anew", async (t) => {
  const changes = { flatMap: () => writeFileSync(followed.file, "two") ?? [] };
  const followed = aFollowed(t, Object.assign([], changes));

  assert.equal(await followed.after(followed.follow), "read");
  assert.equal(followed.opens("two"), true);
});
