import assert from "node:assert/strict";
import { test } from "node:test";
import { openChanges } from "../../../../common/changes.ts";
import { AppError } from "../../../../common/errors.ts";
import type { KubeApi, WatchEvent } from "../../../../control/doors/kubernetes/api.ts";
import type { Pod } from "../../../../control/providers/kubernetes/objects.ts";
import { type PodWatch, podsWith } from "../../../../control/providers/kubernetes/watch.ts";

const aPod = (name: string, version: number, phase = "Pending") =>
  ({ metadata: { name, resourceVersion: String(version) }, status: { phase } }) as Pod;

const tenth = { metadata: { resourceVersion: "10" } };

/** An API server in memory, and the calls that it got. */
function aServer() {
  const changes = openChanges();
  const calls: string[] = [];
  const events: (WatchEvent<Pod> | Error | "end")[] = [];
  const server = {
    calls,
    /** What the next list says, once it may. */
    list: async () => ({ ...tenth, items: [aPod("a", 5)] }),
    tell(event: (typeof events)[number]) {
      events.push(event);
      changes.notify("events");
    },
  };
  const api = {
    namespace: "n",
    read() {
      calls.push("list");
      return server.list();
    },
    async *watch(path: string, signal: AbortSignal) {
      calls.push(`watch from ${/resourceVersion=(.*)/.exec(path)?.[1]}`);
      for (;;) {
        const event = await changes.until("events", async () => events.shift(), signal);
        if (event === "end") return;
        if (event instanceof Error) throw event;
        yield event;
      }
    },
  } as unknown as KubeApi;
  return { ...server, server, pods: podsWith(api, { mine: "yes" }), api };
}

/** Follows a pod until it is in a phase, or gone. */
async function untilPhase(pods: PodWatch, name: string, phase: string | undefined) {
  for await (const pod of pods.follow(name, AbortSignal.timeout(5_000)))
    if (pod?.status.phase === phase) return pod;
  return undefined;
}

const phasesIn = async (pods: PodWatch, signal: AbortSignal) =>
  (await pods.all(signal)).map(({ metadata, status }) => `${metadata.name} ${status.phase}`);

test("all who ask for pods share one list and one watch, until that fails", async (t) => {
  const { api, pods, calls, tell } = aServer();
  assert.equal(podsWith(api, { mine: "yes" }), pods);
  const followers = ["a", "b"].map((name) => untilPhase(pods, name, "Running"));
  assert.deepEqual(await phasesIn(pods, t.signal), ["a Pending"]);

  tell({ type: "MODIFIED", object: aPod("a", 11, "Running") });
  tell({ type: "ADDED", object: aPod("b", 12, "Running") });
  await Promise.all(followers);
  const isGone = untilPhase(pods, "a", undefined);
  tell({ type: "DELETED", object: aPod("a", 13, "Running") });
  await isGone;

  assert.deepEqual(await phasesIn(pods, t.signal), ["b Running"]);
  assert.deepEqual(calls, ["list", "watch from 10"]);

  const follower = pods.follow("b", t.signal);
  await follower.next();
  tell(new AppError("CloudError", "pods may not be watched"));
  await assert.rejects(follower.next(), /may not be watched/);
  await pods.all(t.signal);
  assert.deepEqual(calls, ["list", "watch from 10", "list", "watch from 10"]);
});

test("a watch that ends goes on where it was, and followers look once more", async (t) => {
  const { pods, calls, tell } = aServer();
  const follower = pods.follow("a", t.signal);
  await follower.next();

  tell({ type: "BOOKMARK", object: aPod("", 20) });
  tell("end");
  const { value } = await follower.next();

  assert.equal(value?.status.phase, "Pending");
  assert.deepEqual(calls, ["list", "watch from 10", "watch from 20"]);
});

test("a connection that breaks is no trouble to followers: a list tells what they missed", async (t) => {
  const { server, pods, calls, tell } = aServer();
  const runs = untilPhase(pods, "a", "Running");
  await pods.all(t.signal);
  server.list = async () => ({ ...tenth, items: [aPod("a", 9, "Running")] });

  tell(new Error("terminated"));
  await runs;

  assert.deepEqual(calls, ["list", "watch from 10", "list", "watch from 10"]);
});

test("versions that go back, as after a restore, replace what was known", async (t) => {
  const { server, pods, tell } = aServer();
  await pods.all(t.signal);
  pods.note(aPod("made", 20));
  server.list = async () => ({
    metadata: { resourceVersion: "3" },
    items: [aPod("a", 2, "Running")],
  });

  tell("end");
  await untilPhase(pods, "a", "Running");

  assert.deepEqual(await phasesIn(pods, t.signal), ["a Running"]);
});

test("what the server has answered is kept, whatever older news come", async (t) => {
  const { server, pods, tell } = aServer();
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
  const { list } = server;
  server.list = () => mayAnswer.then(list);
  const all = phasesIn(pods, t.signal);
  pods.note(aPod("made", 20));
  answer();
  assert.deepEqual(await all, ["made Pending", "a Pending"]);

  pods.note(aPod("a", 30, "Running"));
  tell({ type: "DELETED", object: aPod("a", 25) });
  tell({ type: "MODIFIED", object: aPod("made", 31, "Running") });
  await untilPhase(pods, "made", "Running");
  assert.deepEqual(await phasesIn(pods, t.signal), ["made Running", "a Running"]);
});

test("a list that fails is told to all who ask, and the next one begins anew", async (t) => {
  const { server, pods } = aServer();
  const { list } = server;
  server.list = () => Promise.reject(new Error("no answer"));
  const asked = [pods.all(t.signal), untilPhase(pods, "a", "Running")];
  for (const one of asked) await assert.rejects(one, /no answer/);
  await assert.rejects(pods.all(AbortSignal.abort()), { name: "AbortError" });

  server.list = list;
  assert.deepEqual(await phasesIn(pods, t.signal), ["a Pending"]);
});
