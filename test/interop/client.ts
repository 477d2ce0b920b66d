import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Ended } from "./command.ts";

/** The existing client, imported once; each command line runs in a process of its own. */
export interface Client extends AsyncDisposable {
  /** Runs a command line to its end; one that takes too long is killed. */
  run(args: readonly string[], timeoutMs: number): Promise<Ended>;
}

interface Answer extends Ended {
  readonly id: number;
}

const program = join(import.meta.dirname, "driver.py");

/** Starts the driver of the client whose programs are in `bin`, in an environment and folder of its own. */
export function startClient(bin: string, env: NodeJS.ProcessEnv, cwd: string): Client {
  const stdio = ["pipe", "pipe", "inherit"] as const;
  const driver = spawn(join(bin, "python"), [program], { env, cwd, stdio: [...stdio] });
  const ended = once(driver, "exit");
  const waiting = new Map<number, PromiseWithResolvers<Ended>>();
  createInterface({ input: driver.stdout }).on("line", (line) => {
    const { id, ...answer }: Answer = JSON.parse(line);
    waiting.get(id)?.resolve(answer);
    waiting.delete(id);
  });
  driver.once("exit", (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`the driver exited with ${code}`));
  });
  let lastId = 0;
  return {
    run(args, timeoutMs) {
      const answer = Promise.withResolvers<Ended>();
      lastId += 1;
      waiting.set(lastId, answer);
      driver.stdin.write(`${JSON.stringify({ id: lastId, args, timeoutMs })}\n`);
      return answer.promise;
    },
    async [Symbol.asyncDispose]() {
      driver.stdin.end();
      await ended;
    },
  };
}
