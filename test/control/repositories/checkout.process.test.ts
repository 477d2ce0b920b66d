import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Config } from "../../../control/config.ts";
import type { Ground } from "../../../control/ground.ts";
import { checkOut, findCommit } from "../../../control/repositories/checkout.ts";
import { collectRepositories } from "../../../control/repositories/collect.ts";
import type { Repository } from "../../../control/repositories/git.ts";
import { type GitServer, startGitServer, whyNoGitServer } from "../../helpers/git-server.ts";

const skip = whyNoGitServer;
const { signal } = new AbortController();

function worldOf(t: TestContext, { certificate }: GitServer) {
  const home = mkdtempSync(join(tmpdir(), "home-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const nodeEnv = { PATH: process.env["PATH"] ?? "", SSL_CERT_FILE: certificate };
  let at = Date.now();
  const world = { config: { home, nodeEnv } as unknown as Config, now: () => new Date(at) };
  return {
    ...{ home, world },
    find: (repository: Repository, ref?: string) => findCommit(world, repository, ref, signal),
    get: (repository: Repository, commit: string, owner = "ana") =>
      checkOut(world, repository, { commit, owner }, signal),
    pass(ms: number) {
      at += ms;
    },
  };
}

test("a branch, a tag, a commit and no ref lead to their commits", { skip }, async (t) => {
  const server = await startGitServer(t);
  const { find, get } = worldOf(t, server);
  const first = server.commit("a.txt", "1");
  server.git("tag", "light");
  server.git("tag", "-a", "-m", "a tag with a text", "v1");
  const second = server.commit("a.txt", "2");
  server.git("checkout", "-q", "-b", "side/branch");
  const third = server.commit("b.txt", "3");
  const { url } = server;

  assert.equal(await find({ url }), second);
  assert.equal(await find({ url }, "side/branch"), third);
  assert.equal(await find({ url }, "light"), first);
  assert.equal(await find({ url }, "v1"), first);
  assert.equal(await find({ url }, first), first);
  await assert.rejects(find({ url }, "nowhere"), {
    name: "NotFoundError",
    message: /no branch or tag nowhere/,
  });
  const { folder, entries } = await get({ url }, first);
  assert.equal(readFileSync(join(folder, "a.txt"), "utf8"), "1");
  assert.ok(entries.some(({ path }) => path === "a.txt"));
  assert.ok(entries.some(({ path }) => path === ".git/HEAD"));
  await assert.rejects(get({ url }, "0".repeat(40)), { name: "NotFoundError" });
  server.git("tag", "--force", "light");
  server.commit("c.txt", "4");
  assert.equal(await find({ url }, "light"), third);
});

test("a commit is fetched once, for each of its users, until nobody used it for a day", {
  skip,
}, async (t) => {
  const server = await startGitServer(t);
  const { world, get, pass } = worldOf(t, server);
  const { url } = server;
  const commit = server.commit("a.txt", "1");
  const { folder } = await get({ url }, commit);
  const { asked } = server;

  await get({ url }, commit);
  assert.equal(server.asked, asked);
  await get({ url }, commit, "ben");
  assert.ok(server.asked > asked);

  const ground = world as Ground;
  pass(23 * 3_600_000);
  await get({ url }, commit);
  pass(2 * 3_600_000);
  await collectRepositories(ground);
  assert.ok(existsSync(folder));
  pass(24 * 3_600_000);
  await collectRepositories(ground);
  assert.ok(!existsSync(folder));
});

test("a fetch ends before it fills the disk of control, and leaves nothing", {
  skip: process.getuid?.() !== 0 && "mounting a file system needs root",
}, async (t) => {
  const home = mkdtempSync(join(tmpdir(), "home-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=264m", "tmpfs", home]);
  t.after(() => execFileSync("umount", ["--lazy", home]));
  const bin = mkdtempSync(join(tmpdir(), "bin-"));
  t.after(() => rmSync(bin, { recursive: true }));
  const script =
    '#!/bin/sh\nhead -c 20000000 /dev/zero > "$(echo "$HOME"/*/*/)sent"; exec sleep 1000\n';
  writeFileSync(join(bin, "git"), script, { mode: 0o755 });
  const nodeEnv = { PATH: `${bin}:${process.env["PATH"]}` };
  const world = { config: { home, nodeEnv } as unknown as Config, now: () => new Date() };
  const commit = { commit: "0".repeat(40), owner: "ana" };

  const fetched = checkOut(world, { url: "https://git.example/a.git" }, commit, signal);

  await assert.rejects(fetched, { name: "DiskFullError" });
  assert.deepEqual(readdirSync(join(home, "repositories"), { recursive: true }).length, 1);
});

test("a token is for the host in the address, and not for one that this leads to", {
  skip,
}, async (t) => {
  const server = await startGitServer(t);
  const { find } = worldOf(t, server);
  const commit = server.commit("a.txt", "1");
  const token = "for-the-host";
  assert.equal(await find({ url: server.movedUrl, token }), commit);

  server.login = { username: "x-access-token", password: token };

  await assert.rejects(find({ url: server.movedUrl, token }), { name: "PermissionDeniedError" });
  assert.equal(await find({ url: server.url, token }), commit);
});

test("a private repository asks for a token, which is told to nobody else", { skip }, async (t) => {
  const server = await startGitServer(t);
  const { find, get, home } = worldOf(t, server);
  const { url } = server;
  const commit = server.commit("a.txt", "1");
  const token = ["a", "token"].join(" ");
  server.login = { username: "x-access-token", password: token };

  for (const wrong of [undefined, "wrong"])
    await assert.rejects(find({ url, token: wrong }), {
      name: "PermissionDeniedError",
      message: `${url} refuses access; pass the secret GIT_TOKEN (https) or GIT_SSH_KEY (ssh)`,
    });
  assert.equal(await find({ url, token }), commit);
  const { entries, folder } = await get({ url, token }, commit);
  for (const { kind, path } of entries)
    if (kind === "file") assert.ok(!readFileSync(join(folder, path)).includes(token), path);
  assert.ok(!existsSync(join(home, ".git-credentials")));
});

test("a repository over SSH is read with a key", { skip }, async (t) => {
  const server = await startGitServer(t);
  const { find, get, home } = worldOf(t, server);
  const commit = server.commit("a.txt", "1");
  const { url, key: sshKey } = await server.startSsh();

  await assert.rejects(find({ url }), { name: "PermissionDeniedError" });
  await assert.rejects(find({ url, sshKey: "no key" }), { name: "ValueError" });
  assert.equal(await find({ url, sshKey }), commit);
  const { folder } = await get({ url, sshKey }, commit);
  assert.equal(readFileSync(join(folder, "a.txt"), "utf8"), "1");
  await assert.rejects(find({ url: `${url}x`, sshKey }), { name: "NotFoundError" });
  assert.match(readFileSync(join(home, "repositories/known_hosts"), "utf8"), /127\.0\.0\.1/);
});
