import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { bareStream } from "../../../common/operation.ts";
import { openUnixDoor } from "../../../control/doors/unix.ts";
import { until } from "../../helpers/agent.ts";
import type { World } from "../../helpers/world.ts";
import { jobBed, logOf } from "../jobs/bed.ts";

test("what is told over a stream without HTTP that went silent is found out all the same", async (t) => {
  hasten(t);
  const bed = await jobBed(t);
  const way = openWay(t, bed.world);
  await bed.launch();
  await bed.untilTask(1, "RUNNING");
  const agent = await bed.agent(1);
  await until(() => (way.bare.size > 0 && agent.node.readers.size > 0) || undefined);
  // Whatever the start has woken is over.
  await until(() => agent.calls.includes("readLog") || undefined);
  for (const _ of ["once", "again"]) await bed.look(1);

  const silenced = way.silence();
  agent.print(1, "unheard\n");
  agent.end(1, "SUCCEEDED");
  await bed.untilSettled(1);

  assert.equal((await logOf(bed, { job_id: 1 })).text, "unheard\n");
  assert.ok(
    silenced.every(({ destroyed }) => destroyed),
    "control has closed what was silent",
  );
});

/** Agents say more often that they live, and control waits less long for that. */
function hasten(t: TestContext): void {
  const { setTimeout: later, setInterval: repeated } = globalThis;
  const faster = (run: typeof later, longMs: number, ms: number) =>
    ((work: () => void, afterMs?: number, ...given: []) =>
      run(work, afterMs === longMs ? ms : afterMs, ...given)) as never;
  t.mock.method(globalThis, "setTimeout", faster(later, 15_000, 1_500));
  t.mock.method(globalThis, "setInterval", faster(repeated as never, 5_000, 300));
}

const isBare = (head: string): boolean => head.toLowerCase().includes(`\r\nupgrade: ${bareStream}`);

/** The way to all agents of a provider, on which streams without HTTP can go silent without an end. */
function openWay(t: TestContext, { ctx, home, provider }: World) {
  const bare = new Map<Socket, Socket>();
  const open = new Set<{ destroy(): void }>();
  const servers = new Map<string, ReturnType<typeof createServer>>();
  t.after(() => {
    for (const socket of open) socket.destroy();
    for (const server of servers.values()) server.close();
  });
  const serve = (nodeId: string) =>
    createServer((near) => {
      const far = connect(provider.machines.get(nodeId)?.node.socket ?? "");
      for (const one of [near, far]) open.add(one.on("error", () => {}));
      near.on("data", (first) => isBare(String(first)) && bare.set(near, far));
      near.on("close", () => far.destroy()).pipe(far);
      far.on("close", () => near.destroy()).pipe(near);
    }).listen(join(home, nodeId));
  const door = (nodeId: string) => {
    if (!servers.has(nodeId)) servers.set(nodeId, serve(nodeId));
    return openUnixDoor(join(home, nodeId));
  };
  Object.assign(ctx.provider("fake"), { door });
  return {
    bare,
    silence(): Socket[] {
      for (const [near, far] of bare) far.unpipe(near) && near.unpipe(far);
      return [...bare.keys()];
    },
  };
}
