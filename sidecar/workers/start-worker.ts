import type { AddressInfo } from "node:net";
import { nodeProgram } from "../../common/programs.ts";
import type { Config } from "../config.ts";
import type { Key } from "../keys.ts";
import type { Samples } from "../metrics.ts";
import { type Calls, callsTo } from "./calls.ts";
import { workerVariable } from "./worker.ts";

/** How a worker ended. */
export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: string | null;
  readonly lastedMs: number;
}

export type Env = Readonly<Record<string, string | undefined>>;

/** Where a worker listens, and where it forwards to. */
export type Where = Readonly<Parameters<Calls["listen"]>>;

/** A process that forwards on our behalf. */
export interface Worker {
  readonly pid: number | undefined;
  readonly opened: Promise<AddressInfo>;
  readonly ended: Promise<WorkerEnd>;
  /** Whether it listens. */
  readonly isOpen: boolean;
  /** What it had counted when it was last asked. */
  readonly samples: Samples;
  use(keys: readonly Key[]): Promise<void>;
  refreshSamples(): Promise<void>;
  drain(deadlineMs: number): Promise<number>;
  /** Ends it; resolves once it has ended. */
  close(): Promise<void>;
}

/** A worker that takes longer to answer is killed. */
const answerMs = 5_000;
const startMs = 60_000;

/**
 * Starts a worker, which ends with this process, however that ends. When it cannot do what it is asked, it is
 * killed, and the promise of that is rejected once it has ended.
 */
export function startWorker(config: Config, env: Env, keys: readonly Key[], where: Where): Worker {
  const { child, ended } = forkWorker(config, env);
  const ask = callsTo(child);
  const orKill = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await answer;
    } catch (error) {
      child.kill("SIGKILL");
      await ended;
      throw error;
    }
  };
  let isOpen = false;
  let samples: Samples = {};
  async function open(): Promise<AddressInfo> {
    await orKill(ask("use", [keys], startMs));
    const address = await orKill(ask("listen", [...where], answerMs));
    isOpen = true;
    return address;
  }
  return {
    ...{ pid: child.pid, opened: open(), ended },
    get isOpen() {
      return isOpen;
    },
    get samples() {
      return samples;
    },
    use: (next) => orKill(ask("use", [next], answerMs)),
    async refreshSamples() {
      samples = await orKill(ask("samples", [], answerMs));
    },
    drain: (deadlineMs) => orKill(ask("drain", [deadlineMs], deadlineMs + answerMs)),
    async close() {
      if (child.connected) child.disconnect();
      const killing = setTimeout(() => child.kill("SIGKILL"), answerMs);
      await ended;
      clearTimeout(killing);
    },
  };
}

function forkWorker(config: Config, env: Env) {
  // One worker alone does not pay for what starts several.
  const { fork } = process.getBuiltinModule("node:child_process");
  const child = fork(process.argv[1] ?? "", {
    execPath: nodeProgram,
    env: { ...env, [workerVariable]: JSON.stringify(config) },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    // Keys are bytes and dates, which JSON does not have.
    serialization: "advanced",
  });
  const startedAtMs = performance.now();
  const { promise: ended, resolve } = Promise.withResolvers<WorkerEnd>();
  const end = (code: number | null, signal: string | null) =>
    resolve({ code, signal, lastedMs: performance.now() - startedAtMs });
  child.once("exit", end).on("error", () => child.pid === undefined && end(null, null));
  return { child, ended };
}
