import { execFile, spawn } from "node:child_process";
import { homedir, userInfo } from "node:os";
import { Duplex } from "node:stream";
import { promisify } from "node:util";
import { AppError } from "../../../common/errors.ts";
import type { Config } from "../../config.ts";

/** Where the commands of a Slurm cluster are. */
export interface Login {
  /** Runs bash there; answers what it printed. Throws `CloudError` with what it complained of. */
  run(script: string, args: readonly string[], signal?: AbortSignal): Promise<string>;
  /** The standard input and output of a program there. */
  connect(program: readonly string[]): Duplex;
}

const run = promisify(execFile);
const limitMs = 90_000;
const outputAtMost = 64 * 2 ** 20;

/** This machine as a login node. */
export function localLogin({ nodeEnv, slurmConf }: Pick<Config, "nodeEnv" | "slurmConf">): Login {
  const env = {
    ...nodeEnv,
    HOME: homedir(),
    USER: userInfo().username,
    ...(slurmConf !== undefined && { SLURM_CONF: slurmConf }),
  };
  return {
    async run(script, args, signal) {
      const limits = { timeout: limitMs, maxBuffer: outputAtMost, ...(signal && { signal }) };
      return run("bash", ["-c", script, "bash", ...args], { env, ...limits }).then(
        ({ stdout }) => stdout,
        (error: Error & { stderr?: string }) => {
          signal?.throwIfAborted();
          throw new AppError("CloudError", complaintOf(error), {}, error);
        },
      );
    },
    connect([file = "", ...args]) {
      const child = spawn(file, args, { env, stdio: ["pipe", "pipe", "ignore"] });
      const way = Duplex.from({ readable: child.stdout, writable: child.stdin });
      child.once("error", (error) => way.destroy(error));
      child.stdin.on("error", () => {});
      way.once("close", () => child.kill());
      return way;
    },
  };
}

/** The last thing that a command of Slurm wrote, without the name of the command. */
function complaintOf({ stderr = "", message }: Error & { stderr?: string }): string {
  const said = stderr
    .trim()
    .split("\n")
    .at(-1)
    ?.replace(/^\w+: (error: )?/, "");
  return `Slurm: ${said || message}`;
}
