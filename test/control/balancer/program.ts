import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { Pool } from "undici";
import type { BalancerPlan, BalancerReport } from "../../../contract/balancer-api.ts";
import { linesOf } from "../../../control/doors/lines.ts";
import { testedArgs } from "../../helpers/tested.ts";
import { dial, type Wire } from "../../sidecar/raw.ts";
import { aPlan, type Server1 } from "./bed.ts";

/** The real program, and control's side of it. */
export interface Started {
  readonly child: ChildProcess;
  readonly socket: string;
  /** Everything it said, one line an entry. */
  readonly lines: string[];
  readonly exited: Promise<number | null>;
  /** Waits until it says this. */
  says(word: string): Promise<string>;
  call(route: string, body?: object): Promise<{ status: number; headers: object; json: never }>;
  /** The reports, one by one; leaving the loop closes the connection. */
  reports(): AsyncGenerator<BalancerReport>;
}

/** Starts the program in a folder of its own, or beside another; it is gone once the test is. */
export async function start(t: TestContext, env: Record<string, string> = {}): Promise<Started> {
  const folder = mkdtempSync(join(tmpdir(), "balancer-"));
  const socket = env["OUTRIGGER_SOCKET"] ?? join(folder, "balancer.sock");
  const child = spawn(process.execPath, testedArgs("balancer"), {
    env: { PATH: process.env["PATH"], OUTRIGGER_SOCKET: socket, OUTRIGGER_BUILD: "b1", ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const lines: string[] = [];
  let wake = () => {};
  createInterface(child.stderr).on("line", (line) => {
    lines.push(line);
    wake();
  });
  const exited = once(child, "close").then(([code]) => {
    wake();
    return code as number | null;
  });
  const pool = new Pool("http://balancer", { connect: { socketPath: socket }, bodyTimeout: 0 });
  t.after(async () => {
    child.kill("SIGKILL");
    await exited;
    await pool.destroy();
    rmSync(folder, { recursive: true });
  });
  const started: Started = {
    child,
    socket,
    lines,
    exited,
    async says(word) {
      for (;;) {
        const found = lines.find((line) => line.includes(word));
        if (found !== undefined) return found;
        if (child.exitCode !== null) assert.fail(`it ended and said ${lines.join("\n")}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    call: (route, body) => call(pool, route, body),
    async *reports() {
      const { body } = await pool.request({ method: "GET", path: "/reports" });
      for await (const line of linesOf(body)) yield JSON.parse(line);
    },
  };
  await started.says("waits for its plan");
  return started;
}

export async function call(pool: Pool, route: string, body?: object) {
  const [method = "GET", path = "/"] = route.split(" ");
  const sent = body === undefined ? null : JSON.stringify(body);
  const answer = await pool.request({ method: method as "GET", path, body: sent });
  const { statusCode: status, headers } = answer;
  return { status, headers, json: (await answer.body.json()) as never };
}

export type Called = Pick<Started, "call">;

const hold = { requests: 100, ms: 60_000 };
export let revision = 0;

/** Tells it a plan with these replicas, of which the requests wait for the first to be ready. */
export async function plan(
  balancer: Called,
  replicas: readonly Server1[],
  more: Partial<BalancerPlan> = {},
): Promise<number> {
  revision += 1;
  const body = aPlan(replicas, { revision, hold, ...more });
  const { status, json } = await balancer.call("PUT /plan", body);
  assert.equal(status, 200, JSON.stringify(json));
  return (json as { listen: { port: number } }).listen.port;
}

export async function ask(t: TestContext, port: number, path = "/"): Promise<string> {
  const wire = dial(t, port);
  wire.send(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  return wire.end();
}

/** A request whose answer has begun, and what lets it end. */
export async function begun(
  t: TestContext,
  one: Server1,
  port: number,
): Promise<[Wire, () => void]> {
  let finish = () => {};
  one.answer = (_, res) => {
    res.write("begun ");
    finish = () => res.end("ended");
  };
  const wire = dial(t, port);
  wire.send("GET /long?key=hidden HTTP/1.1\r\nHost: a\r\n\r\n");
  await wire.until(() => wire.text.includes("begun"));
  return [wire, () => finish()];
}
