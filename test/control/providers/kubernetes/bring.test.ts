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

const withNode = "x86_64\n/bin/node v24.1.0\n/lib64/ld-linux-x86-64.so.2\n";

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

test("an image without glibc is refused in plain words, unless it has a Node.js of its own", async () => {
  const { sent, failure } = await bring([success, success], "x86_64\n\n\n");
  assert.equal(sent, 0);
  assert.match(failure ?? "", /the image of pod p has no glibc, .* such as node:24-alpine/);

  const alpine = await bring([success], "x86_64\n/usr/bin/node v24.1.0\n\n");
  assert.deepEqual(alpine, { sent: 1, failure: undefined });
});
