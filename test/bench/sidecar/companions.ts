import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Lab } from "../lab.ts";
import { pin } from "./machine.ts";

/** A process beside what is measured: it loads, or is the upstream. */
export interface Companion extends AsyncDisposable {
  /** The next message that it sends; throws when it ends before. */
  next<T>(): Promise<T>;
  tell(message: object): void;
}

/** Starts a file of this folder on the cores that are left to the load. */
export function startCompanion(lab: Lab, file: string, ...args: string[]): Companion {
  const child = lab.load(`sidecar/${file}`, ...args);
  pin(child.pid ?? 0, "load");
  return {
    next: () => nextMessage(child, lab.signal),
    tell: (message) => child.send(message),
    async [Symbol.asyncDispose]() {
      if (!child.connected) return;
      const exit = once(child, "exit");
      child.disconnect();
      await exit;
    },
  };
}

/** Starts the server behind the proxies; its port. */
export async function startUpstream(lab: Lab): Promise<number> {
  const { port } = await startCompanion(lab, "upstream.ts").next<{ port: number }>();
  return port;
}

async function nextMessage<T>(child: ChildProcess, signal: AbortSignal): Promise<T> {
  const over = new AbortController();
  const both = AbortSignal.any([signal, over.signal]);
  const ended = once(child, "exit", { signal: both }).then(([code]) => {
    throw new Error(`${child.spawnargs.at(-1)} ended with ${code}`);
  });
  try {
    const [message] = await Promise.race([once(child, "message", { signal: both }), ended]);
    return message as T;
  } finally {
    over.abort();
    ended.catch(() => {});
  }
}
