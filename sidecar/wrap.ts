import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { constants } from "node:os";
import { endTree, type Survivor } from "../common/end-processes.ts";
import { errorCodeOf } from "../common/errors.ts";
import { findProcess } from "../common/process-tree.ts";
import { product } from "../common/product.ts";
import { startGuard } from "./guard.ts";

/** A command that serves on a loopback port of its own. */
export interface Wrapped {
  /** Its exit code, as a shell would tell it. */
  readonly exited: Promise<number>;
  signal(signal: NodeJS.Signals): void;
  /** Kills it and all that it started; answers what is left. */
  kill(): Promise<Survivor[]>;
}

/** Whoever has this in its environment was started by the command. */
const markName = `${product.word}_wrapped`.toUpperCase();

/**
 * Starts the command, which is to serve on this loopback port: it sees it as `$PORT` and in place of
 * `{port}`. Its output is ours. When this process is killed, the command has `graceMs` to end as well.
 */
export function wrapCommand(
  command: readonly string[],
  port: number,
  env: Readonly<Record<string, string | undefined>>,
  graceMs: number,
): Wrapped {
  const [file = "", ...args] = command.map((word) => word.replaceAll("{port}", String(port)));
  const marked = { ...env, PORT: String(port), [markName]: `${process.pid}.${Date.now()}` };
  // Only who wraps a command waits for what starts it.
  const { spawn } = process.getBuiltinModule("node:child_process");
  const mark = `${markName}=${marked[markName]}`;
  const guard = startGuard(mark, graceMs, env["PATH"]);
  const child = spawn(file, args, { stdio: "inherit", env: marked });
  const root = findProcess(child.pid ?? 0);
  if (root !== undefined) guard.watch(root);
  const { promise: exited, resolve } = Promise.withResolvers<number>();
  void exited.then(guard.dismiss);
  child.once("error", (error) => {
    const isMissing = errorCodeOf(error) === "ENOENT";
    console.error(`${file}: ${isMissing ? "command not found" : error.message}`);
    resolve(isMissing ? 127 : 126);
  });
  child.once("exit", (code, signal) => resolve(code ?? 128 + numberOf(signal)));
  return {
    exited,
    signal: (signal) => void child.kill(signal),
    kill: () => endTree({ roots: root === undefined ? [] : [root], mark }, 0),
  };
}

const numberOf = (signal: NodeJS.Signals | null): number =>
  signal === null ? 0 : constants.signals[signal];

/** A loopback port that nobody uses now. */
export async function findPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
