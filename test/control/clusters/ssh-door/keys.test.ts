import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readKeys, sshCredentials } from "../../../../control/clusters/ssh-door/keys.ts";
import type { Context } from "../../../../control/context.ts";

test("a home has one pair of keys, whoever asks first, which only its owner can read", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "keys-"));
  t.after(() => rmSync(home, { recursive: true }));

  const [first, ...others] = await Promise.all(Array.from({ length: 8 }, () => readKeys({ home })));

  for (const other of others) assert.deepEqual(other, first);
  assert.match(first?.user.privateText ?? "", /^-----BEGIN OPENSSH PRIVATE KEY-----/);
  assert.notEqual(first?.user.publicText, first?.host.publicText);
  const { mode } = statSync(join(home, "control/ssh-door/user.json"));
  assert.equal((mode & 0o777).toString(8), "600");
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
