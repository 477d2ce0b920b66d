import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { fail } from "../../../common/errors.ts";
import { bounded } from "../../../control/providers/bounded.ts";
import type { ClusterRef, Provider } from "../../../control/providers/provider.ts";

const never = () => new Promise<never>(() => {});
const turn = () => new Promise(setImmediate);
const cluster = { id: "c", name: "a", nodes: 1 } as ClusterRef;

/** A provider whose calls are these, in time that the test moves. */
function providerWith(
  t: TestContext,
  calls: Partial<Provider>,
  mayChange = async () => {},
): Provider {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  return bounded({ name: "cloud", ...calls } as Provider, mayChange);
}

test("a process that was overtaken still reads, and changes nothing", async (t) => {
  const calls: string[] = [];
  const provider = providerWith(
    t,
    {
      list: async () => {
        calls.push("list");
        return [];
      },
      create: async () => void calls.push("create"),
      destroy: async () => void calls.push("destroy"),
    },
    async () => fail("ConflictError", "another one has taken over"),
  );
  const { signal } = new AbortController();

  await provider.list(cluster, signal);
  const overtaken = { message: "another one has taken over" };
  await assert.rejects(provider.create(cluster, 0, signal), overtaken);
  await assert.rejects(provider.destroy("c-0", signal), overtaken);

  assert.deepEqual(calls, ["list"]);
});

test("a call that hangs and does not listen ends once its time is over", async (t) => {
  const provider = providerWith(t, { list: never });
  const listed = provider.list(cluster, new AbortController().signal);
  const outcome = assert.rejects(listed, {
    type: "TimeoutError",
    message: "cloud did not answer within 60 s (list); control retries",
  });

  t.mock.timers.tick(60_000);
  t.mock.timers.tick(10_000);

  await outcome;
});

test("a call that is aborted is waited for, so that nothing of it lands afterwards", async (t) => {
  const created = Promise.withResolvers<void>();
  const seen: AbortSignal[] = [];
  const provider = providerWith(t, {
    create: (_cluster, _rank, signal) => {
      seen.push(signal);
      return created.promise;
    },
  });
  const abort = new AbortController();
  let isOver = false;
  const creation = provider.create(cluster, 0, abort.signal).finally(() => {
    isOver = true;
  });

  abort.abort(new Error("enough"));
  await turn();
  assert.equal(seen[0]?.aborted, true);
  assert.equal(isOver, false);
  created.resolve();

  await creation;
});

test("a provider stays as it is: what it has, and what it lacks", async (t) => {
  const provider = providerWith(t, { hasSpot: async () => true, list: async () => [] });

  assert.equal(provider.name, "cloud");
  assert.equal(await provider.hasSpot?.(), true);
  assert.equal(provider.stop, undefined);
  assert.deepEqual(await provider.list(cluster, new AbortController().signal), []);
});
