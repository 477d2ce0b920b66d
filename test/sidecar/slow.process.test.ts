import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { findPort } from "../../sidecar/wrap.ts";
import { until } from "../helpers/agent.ts";
import { testedArgs } from "../helpers/tested.ts";
import { bearer, goodKey } from "./bed.ts";

const count = Number(process.env["SIDECAR_SLOW"] ?? 20);
const skip = existsSync("/proc/self/status") ? false : "needs /proc";
/** More than anything between the two ends holds. */
const endless = 1_000_000_000_000;
/** What each end reads in a round; the sidecar's buffers fit in it many times. */
const roundBytes = 2_000_000;
/** For each connection that is held up; what its sockets hold in the kernel is not the sidecar's. */
const heldMibAtMost = 10 + count * 0.2;
const grownMibAtMost = 10;

/** An end of a connection that sends zeros for ever, as fast as they are taken. */
function pour(socket: Socket): void {
  const zeros = Buffer.alloc(65_536);
  const more = () => {
    while (!socket.destroyed && socket.write(zeros));
  };
  socket.on("drain", more);
  more();
}

/** Reads so many bytes, and then no more. */
function sip(socket: Socket, bytes: number): Promise<void> {
  let left = bytes;
  return new Promise((resolve, reject) => {
    socket.once("close", () => reject(new Error("a connection was closed")));
    socket.on("data", (piece: Buffer) => {
      left -= piece.length;
      if (left > 0) return;
      socket.pause().removeAllListeners("data");
      resolve();
    });
    socket.resume();
  });
}

/** Waits until nothing more of what is sent is taken. */
async function untilStuck(senders: readonly Socket[]): Promise<void> {
  const sent = () => senders.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
  for (let before = -1, still = 0; still < 4; await sleep(50)) {
    const now = sent();
    still = now === before ? still + 1 : 0;
    before = now;
  }
}

/** Waits for all connections: those that pour hold up the ones that are still being made. */
const untilAllThere = (upstreams: readonly Socket[]): Promise<true> =>
  until(() => upstreams.length === count || undefined, 120_000);

const residentMib = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024;

/** The real sidecar before an upstream that does with a connection what it is told to. */
async function aSlowBed(t: TestContext, serve: (socket: Socket) => void) {
  const upstream = createServer(serve).listen({ port: 0, host: "127.0.0.1", backlog: 4_096 });
  await once(upstream, "listening");
  const port = await findPort();
  const address = upstream.address() as { port: number };
  const where = ["--listen", `127.0.0.1:${port}`, "--upstream", `127.0.0.1:${address.port}`];
  // With many connections, this process may take longer than the usual limits.
  const limits = ["head", "connect", "stalled"].flatMap((name) => [`--${name}-seconds`, "600"]);
  const more = [...limits, "--key", goodKey, "--access-log", "off"];
  const args = [...testedArgs("sidecar"), ...where, ...more];
  const sidecar = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "pipe"] });
  const sockets: Socket[] = [];
  t.after(() => {
    sidecar.kill("SIGKILL");
    for (const socket of sockets) socket.destroy();
    upstream.close();
  });
  upstream.on("connection", (socket) => sockets.push(socket.on("error", () => {})));
  await once(sidecar.stderr, "data");
  const open = (head: string): Socket => {
    const socket = connect({ port, host: "127.0.0.1" }).on("error", () => {});
    sockets.push(socket);
    socket.write(`${head}\r\nHost: a\r\n${bearer}`);
    return socket;
  };
  return { resident: () => residentMib(sidecar.pid ?? 0), open };
}

/** Lets all readers read on and stalls them, again and again: the later times take no more memory. */
async function checkFlat(
  t: TestContext,
  resident: () => number,
  idleMib: number,
  senders: readonly Socket[],
  readers: readonly Socket[],
): Promise<void> {
  const round = async (): Promise<number> => {
    await Promise.all(readers.map((reader) => sip(reader, roundBytes)));
    await untilStuck(senders);
    return resident();
  };
  await untilStuck(senders);
  const heldMib = await round();
  const laterMib = Math.min(await round(), await round());
  const [held, grown] = [heldMib - idleMib, laterMib - heldMib];
  const each = `${((held * 1_024) / count).toFixed(0)} KiB each`;
  t.diagnostic(`${each}, ${grown.toFixed(1)} MiB more later`);
  assert.ok(held < heldMibAtMost, each);
  assert.ok(grown < grownMibAtMost, `${grown} MiB more`);
}

test(`${count} clients that hardly read take no more memory with time`, { skip }, async (t) => {
  const upstreams: Socket[] = [];
  const bed = await aSlowBed(t, (socket) => void upstreams.push(socket));
  const idleMib = bed.resident();
  const clients = Array.from({ length: count }, () => {
    const client = bed.open("GET / HTTP/1.1").pause();
    client.write("\r\n");
    return client;
  });
  await untilAllThere(upstreams);
  for (const upstream of upstreams) {
    upstream.write(`HTTP/1.1 200 OK\r\nContent-Length: ${endless}\r\n\r\n`);
    pour(upstream);
  }

  await checkFlat(t, bed.resident, idleMib, upstreams, clients);
});

test(`${count} uploads to an upstream that hardly reads take no more memory with time`, {
  skip,
}, async (t) => {
  const upstreams: Socket[] = [];
  const bed = await aSlowBed(t, (socket) => void upstreams.push(socket.pause()));
  const idleMib = bed.resident();
  const clients = Array.from({ length: count }, () => {
    const client = bed.open("POST / HTTP/1.1");
    client.write(`Content-Length: ${endless}\r\n\r\n`);
    return client;
  });
  await untilAllThere(upstreams);
  for (const client of clients) pour(client);

  await checkFlat(t, bed.resident, idleMib, clients, upstreams);
});
