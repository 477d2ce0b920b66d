import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { testedArgs } from "../helpers/tested.ts";
import { dial } from "./raw.ts";

/** The real program, started. */
export interface Started {
  readonly process: ChildProcess;
  /** Everything it said, one line an entry. */
  readonly lines: string[];
  /** The first line that holds all the words, once it is there. */
  line(...words: string[]): Promise<string>;
  readonly exited: Promise<number | null>;
}

/** Starts the real program; it is killed with the test. */
export function start(
  t: TestContext,
  args: readonly string[],
  env: Record<string, string> = {},
  program = [...testedArgs("sidecar"), "--listen", "127.0.0.1:0"],
): Started {
  const flags = [...program, ...args];
  const child = spawn(process.execPath, flags, {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lines: string[] = [];
  let wake = () => {};
  let rest = "";
  const take = (bytes: Buffer) => {
    const all = (rest + bytes.toString()).split("\n");
    rest = all.pop() ?? "";
    lines.push(...all);
    wake();
  };
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  t.after(() => child.kill("SIGKILL"));
  const exited = once(child, "close").then(([code]) => {
    wake();
    return code as number | null;
  });
  return {
    process: child,
    lines,
    exited,
    async line(...words) {
      for (;;) {
        const found = lines.find((line) => words.every((word) => line.includes(word)));
        if (found !== undefined) return found;
        if (child.exitCode !== null) assert.fail(`it ended and said ${lines.join("\n")}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

/** Where it listens, once it does. */
export const portOf = async (started: Started): Promise<number> =>
  JSON.parse(await started.line('"listening"')).port;

/** The whole answer to a GET with the key. */
export async function ask(t: TestContext, port: number, key: string, path = "/"): Promise<string> {
  const wire = dial(t, port);
  wire.send(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  const answer = await wire.answer();
  wire.socket.end();
  return answer;
}
