import assert from "node:assert/strict";
import { test } from "node:test";
import { openTurns } from "../../../../common/turns.ts";
import type { KubeApi } from "../../../../control/doors/kubernetes/api.ts";
import type { Channels } from "../../../../control/doors/kubernetes/channels.ts";
import { bringAgent } from "../../../../control/providers/kubernetes/bring.ts";

const signal = new AbortController().signal;
const success = { status: "Success" };
const exit = (code: number) => ({
  status: "Failure",
  details: { causes: [{ reason: "ExitCode", message: String(code) }] },
});

/** What a command prints, and the status that comes of it; without one, its connection is lost. */
interface Answer {
  readonly prints?: string;
  readonly status?: object;
}

function channelsOf({ prints = "", status }: Answer): Channels {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  return {
    closed,
    onFrame: (listener) =>
      setImmediate(() => {
        listener(1, Buffer.from(prints));
        if (status !== undefined) listener(3, Buffer.from(JSON.stringify(status)));
        close();
      }),
    send: (_channel, _bytes, done) => done(),
    ...{ end: () => {}, pause: () => {}, resume: () => {}, close },
  };
}

const withNode = "x86_64\n/bin/node v24.1.0\n";

/** Brings an agent into a pod, which has Node.js; how each upload ends is given, and how many there were comes back. */
async function bring(uploads: readonly (object | undefined)[], looks = withNode) {
  let sent = 0;
  const answerTo = (script: string): Answer => {
    if (script.includes("uname")) return { prints: looks, status: success };
    if (!script.includes("tar")) return { status: success };
    const status = uploads[sent++];
    return status === undefined ? {} : { status };
  };
  const channels = async (path: string) =>
    channelsOf(answerTo(new URLSearchParams(path).getAll("command")[2] ?? ""));
  const agent = async () => ({ hash: "abc", file: import.meta.filename, bytes: 6 });
  const bundles = { agent, runtime: agent, inTurn: openTurns(2) };
  const api = { namespace: "n", channels } as unknown as KubeApi;
  const failure = await bringAgent(api, "p", bundles, "build", signal).catch(String);
  return { sent, failure };
}

test("an upload whose stream breaks is sent again, and no more than three times in all", async () => {
  assert.deepEqual(await bring([undefined, success]), { sent: 2, failure: undefined });

  const { sent, failure } = await bring([]);
  assert.equal(sent, 3);
  assert.match(failure ?? "", /unpacking the agent failed: the connection to it was lost/);
});

test("an upload that the pod cannot unpack is not sent again", async () => {
  assert.equal((await bring([exit(2), success])).sent, 1);
});

test("an image without tar, or where Node.js does not start, is refused", async () => {
  for (const code of [3, 127]) {
    const { sent, failure } = await bring([exit(code), success]);
    assert.equal(sent, 1);
    assert.match(failure ?? "", /ResourcesUnavailableError: pod p: unpacking the agent failed/);
  }
});

test("Node.js is sent to an image whose own is too old, or does not start", async () => {
  for (const node of ["/bin/node v20.1.0", "/bin/node ", " "]) {
    const { sent, failure } = await bring([success, success], `x86_64\n${node}\n`);
    assert.deepEqual({ sent, failure }, { sent: 2, failure: undefined });
  }
});
