import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import type { Cluster } from "../../../../control/clusters/schema.ts";
import type { Context } from "../../../../control/context.ts";
import { noteLastWords, withWords } from "../../../../control/services/replicas/last-output.ts";
import { lastLines } from "../../../../control/services/replicas/log.ts";
import { addReplica, findReplica } from "../../../../control/services/replicas/store.ts";
import { addService, addVersion } from "../../../../control/services/store.ts";
import { testWorld } from "../../../helpers/world.ts";
import { writable } from "../../../helpers/writable.ts";
import { aReplica, aService } from "../rows.ts";

const reason = "it was not ready 4 s after its run began: refused";
const version = { serviceId: "s1", version: 1, command: "", because: "up by ana", createdAt: 1 };
const yaml = "secrets: { KEY: sk-1 }\nservice: { ports: 8080 }\nrun: serve\n";

test("a replica that its probe gave up says what it printed last, once and without its secrets", async (t) => {
  const { ctx } = await testWorld(t);
  const body = () => Readable.from([Buffer.from("loading\nwith sk-1\n")]);
  const agent = () => ({ open: async () => ({ body: body() }) });
  const seeing = { ...ctx, agent } as unknown as Context;
  const replica = aReplica({ status: "FAILED_INITIAL_DELAY", jobId: 1, reason });
  await addService(writable(ctx), aService());
  const row = { ...version, mode: "rolling", readyAt: null, givenUp: null } as const;
  await addVersion(writable(ctx), ctx.seal, row, { yaml, blobId: null, tls: null });
  await addReplica(writable(ctx), replica);
  const { signal } = new AbortController();

  await noteLastWords(seeing, {} as Cluster, replica, signal);
  const noted = await findReplica(ctx.db, replica.id);
  assert.equal(noted?.reason, `${reason}; it printed last:\nloading\nwith [secret]`);

  await noteLastWords(seeing, {} as Cluster, noted ?? replica, signal);
  assert.equal((await findReplica(ctx.db, replica.id))?.reason, noted?.reason);
});

test("of a log without an end of a line no more is read than is shown", async (t) => {
  const { ctx } = await testWorld(t);
  const line = Buffer.alloc(1_000_000, "x");
  const body = () => Readable.from([line, line, Buffer.from("end")]);
  const agent = () => ({ open: async () => ({ body: body() }) });
  const seeing = { ...ctx, agent } as unknown as Context;
  const { signal } = new AbortController();

  const last = await lastLines(seeing, {} as Cluster, aReplica({ jobId: 1 }), 10, signal);

  assert.ok(last.length < 100_000 && last.endsWith("xend"));
});

test("who printed nothing has no last words", () => {
  assert.equal(withWords(reason, ""), reason);
});
