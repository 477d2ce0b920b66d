import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { removeTraces } from "../../../control/providers/local-traces.ts";
import { startAgent, until } from "../../helpers/agent.ts";

/** What the server has as `/team`. */
const exported = "/srv/export/team";
const options = "vers=4.2,retry=0";
const source = { kind: "nfs", server: "127.0.0.1", path: "/team", options } as const;
const order = { destination: "~/data", subPath: "runs/a", source };

/** Waits for clients from before no longer than a server must. */
function serve(): void {
  execFileSync("rpc.nfsd", ["--no-nfs-version=3", "--lease-time=10", "--grace-time=10", "2"]);
}

test("jobs read and write an export, also after node and server were off, and it outlives the node", async (t) => {
  serve();
  const agent = await startAgent(t);
  await agent.call("attachVolume", order);
  const first = await agent.submit("echo one > ~/data/x");
  await agent.untilJob(first.id, "SUCCEEDED");
  assert.equal(readFileSync(join(exported, "runs/a/x"), "utf8"), "one\n");

  const folder = readlinkSync(join(agent.home, "data")).replace(/\/runs\/a$/, "");
  assert.match(readFileSync("/proc/self/mounts", "utf8"), new RegExp(`${folder} nfs4 .*vers=4.2`));
  await agent.end("SIGTERM");
  execFileSync("umount", [folder]);
  execFileSync("rpc.nfsd", ["0"]);
  await agent.start();
  const second = await agent.submit("cat ~/data/x && echo two >> ~/data/x");
  serve();
  await agent.untilJob(second.id, "SUCCEEDED");
  assert.equal(await agent.log(second.id), "one\n");

  await removeTraces(agent.home);
  rmSync(agent.home, { recursive: true });
  await until(() => !existsSync(folder) || undefined);
  assert.equal(readFileSync(join(exported, "runs/a/x"), "utf8"), "one\ntwo\n");
});

test("what the server does not export is refused with its words", async (t) => {
  const agent = await startAgent(t);

  await assert.rejects(
    agent.call("attachVolume", { ...order, source: { ...source, path: "/other" } }),
    { name: "StorageError", message: /^the node cannot mount 127.0.0.1:\/other: mount.nfs/ },
  );
});
