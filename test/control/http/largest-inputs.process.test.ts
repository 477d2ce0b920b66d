import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { Worker } from "node:worker_threads";
import { operations } from "../../../contract/api.ts";
import { caps } from "../../../contract/caps.ts";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { addRequest } from "../../../control/requests/store.ts";
import { listUnended } from "../../../control/requests/work-store.ts";
import { openLoopProbe } from "../../helpers/loop-probe.ts";
import { testWorld, type World } from "../../helpers/world.ts";
import type { CallMade, CallToMake } from "./caller.ts";
import type { Known } from "./largest-input.ts";
import { largestTasks } from "./largest-tasks.ts";

/** Of processor time, for which nobody else is served. */
const longestTurnMs = 100;
/** A turn may have a garbage collection in it that others have caused, or be the first to run code that is not compiled yet. */
const attempts = 5;

let world: World;
let caller: Worker;
const finish: (() => Promise<unknown>)[] = [];
before(async () => {
  const options = { config: { stalledSeconds: 5 } };
  world = await testWorld({ after: (clean) => void finish.unshift(clean) }, options);
  await world.run(clusters.launch, { cluster_name: "demo", task: "run: 'true'" });
  caller = new Worker(new URL("caller.ts", import.meta.url), { workerData: `${world.home}.sock` });
  finish.unshift(() => caller.terminate());
});
after(async () => {
  for (const clean of finish) await clean();
});

/** Makes a call; answers the longest turn of control's loop until its end. */
async function drive(call: CallToMake): Promise<CallMade & { turnMs: number }> {
  const probe = openLoopProbe();
  caller.postMessage(call);
  const [made] = await once(caller, "message");
  const turnMs = probe.take();
  probe.stop();
  return { ...made, turnMs };
}

/** `prepare` has each attempt find the same to do. */
async function assertShort(call: CallToMake, prepare = async () => {}): Promise<void> {
  const turns: number[] = [];
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    await prepare();
    const { status, text, turnMs } = await drive(call);
    assert.ok(status < 502 && (status !== 422 || call.input !== undefined), `${status} ${text}`);
    if (turnMs < longestTurnMs) return;
    turns.push(Math.round(turnMs));
  }
  assert.fail(`turns of ${turns.join(", ")} ms`);
}

const task = "run: 'true'";
/** What only some texts fit, and what would have a call refused or wait. */
const fitting: Known = {
  ...{ task, dag: task, env_vars: {}, file_mounts_blob_id: null, pool: null, backend: null },
  ...{ clone_disk_from: null, follow: false, timeout: 0, chunk_index: 0, total_chunks: 1 },
  ...{ code_challenge: "x".repeat(43), blob_id: "0a".repeat(32) },
  upload_id: "outrigger-2026-01-31-23-59-59-123456-0123abcd",
  user_hash: "u",
};
/** The same about a cluster that there is, and keeping it. */
const ofDemo: Known = {
  ...fitting,
  cluster_name: "demo",
  cluster: "demo",
  dryrun: true,
  down: false,
};
const ending = ["stop", "down", "autostop"];

for (const { name, input } of operations)
  test(`${name} holds nobody up with its largest input`, async () => {
    await assertShort({ name, known: fitting });
    const isOfCluster = ["cluster_name", "cluster"].some(
      (field) => field in (input.body?.shape ?? {}),
    );
    if (isOfCluster && !ending.includes(name)) await assertShort({ name, known: ofDemo });
  });

const takers: Readonly<Record<string, (text: string) => Record<string, unknown>>> = {
  launch: (text) => ({ cluster_name: "demo", task: text }),
  exec: (text) => ({ cluster_name: "demo", task: text }),
  validate: (text) => ({ dag: text, request_options: null }),
  optimize: (text) => ({ dag: text, request_options: null }),
  "serve.up": (text) => ({
    service_name: "svc",
    task: `${text}\nservice: {readiness_probe: /, ports: 8080}\n`,
  }),
};

for (const [name, inputOf] of Object.entries(takers))
  for (const [what, text] of Object.entries(largestTasks))
    test(`${name} holds nobody up with ${what}`, () => assertShort({ name, input: inputOf(text) }));

test("as many requests as can be named are listed, and cancelled, without holding anybody up", async () => {
  const ids = Array.from({ length: 2 * caps.entries }, () => randomUUID());
  const input = world.ctx.seal.seal("{}");
  const shared = { name: "launch", queue: "long", userId: "u", userName: "ana", input } as const;
  const ofNothing = { clusterName: null, clientApi: null } as const;
  const where = { workspace: "default", credential: "local" } as const;
  const store = () =>
    world.ctx.batch(async (tx) => {
      await tx.deleteFrom("requests").execute();
      for (const [createdAt, id] of ids.entries())
        await addRequest(tx, { ...shared, ...ofNothing, ...where, id, createdAt });
    });

  await assertShort({ name: "api.status", input: { limit: caps.entries } }, store);
  const some = ids.slice(0, caps.entries);
  await assertShort({ name: "api_cancel", input: { request_ids: some } }, store);
  await assertShort({ name: "api_cancel", input: {} }, store);

  assert.ok((await listUnended(world.ctx.db).next()).done);
});
