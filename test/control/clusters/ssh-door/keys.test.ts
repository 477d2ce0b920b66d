import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import ssh2 from "ssh2";
import { makePair, readKeys, sshCredentials } from "../../../../control/clusters/ssh-door/keys.ts";
import type { Context } from "../../../../control/context.ts";

function aHome(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), "keys-"));
  t.after(() => rmSync(home, { recursive: true }));
  return home;
}

/** A public key as ssh2 writes it where its first byte is zero: without that byte. */
function withoutFirstByte(publicText: string): string {
  const [type = "", base64 = ""] = publicText.split(" ");
  const bytes = Buffer.from(base64, "base64");
  const key = bytes.subarray(-31);
  const head = bytes.subarray(0, -32);
  head.writeUInt32BE(31, head.length - 4);
  return `${type} ${Buffer.concat([head, key]).toString("base64")}`;
}

test("a home has one pair of keys, whoever asks first, which only its owner can read", async (t) => {
  const home = aHome(t);

  const [first, ...others] = await Promise.all(Array.from({ length: 8 }, () => readKeys({ home })));

  for (const other of others) assert.deepEqual(other, first);
  assert.match(first?.user.privateText ?? "", /^-----BEGIN OPENSSH PRIVATE KEY-----/);
  assert.notEqual(first?.user.publicText, first?.host.publicText);
  const { mode } = statSync(join(home, "control/ssh-door/user.json"));
  assert.equal((mode & 0o777).toString(8), "600");
});

test("a pair that lacks a byte is not used", () => {
  const { generateKeyPairSync, parseKey } = ssh2.utils;
  const good = generateKeyPairSync("ed25519");
  const short = { ...good, public: withoutFirstByte(good.public) };
  const pairs = [short, short, good];
  const generate = (() => pairs.shift() ?? assert.fail()) as typeof generateKeyPairSync;

  const made = makePair({ parseKey, generateKeyPairSync: generate });

  assert.match(String(parseKey(short.public)), /Malformed OpenSSH public key/);
  assert.deepEqual(made, { privateText: good.private, publicText: good.public });
});

test("a pair on disk that nobody can use is made anew, and one that can be used stays", async (t) => {
  const home = aHome(t);
  const { host } = await readKeys({ home });
  const file = join(home, "control/ssh-door/host.json");
  const short = { ...host, publicText: withoutFirstByte(host.publicText) };

  for (const text of [JSON.stringify(short), JSON.stringify(host).slice(0, 90), "", "{}"]) {
    writeFileSync(file, text);
    const made = (await readKeys({ home })).host;
    assert.notEqual(made.privateText, host.privateText);
    assert.ok(!(ssh2.utils.parseKey(made.privateText) instanceof Error));
    assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), made);
    assert.deepEqual((await readKeys({ home })).host, made);
  }
});

test("where keys cannot be made, clusters are shown without a way to log in", async (t) => {
  const home = join(mkdtempSync(join(tmpdir(), "keys-")), "file");
  t.after(() => rmSync(join(home, ".."), { recursive: true }));
  writeFileSync(home, "");
  const warnings: unknown[] = [];
  const log = { warn: (...words: unknown[]) => void warnings.push(words) };

  assert.equal(await sshCredentials({ config: { home }, log } as unknown as Context), undefined);
  assert.equal(warnings.length, 1);
});
