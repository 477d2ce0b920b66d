import { execFile } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { promisify } from "node:util";
import { AppError } from "../../../common/errors.ts";
import { programArgs } from "../../../common/programs.ts";
import { systemUser } from "../../../common/system-user.ts";
import type { Config } from "../../config.ts";

/** Scripts that only `look` are not held up by others; one that is `whole` is not broken off once it has begun. */
type ScriptKind = "look" | "whole";

/** Where the commands of a Slurm cluster are. */
export interface Login {
  /** Runs bash there; answers what it printed. Throws `CloudError` with what it complained of. */
  run(
    script: string,
    args: readonly string[],
    signal?: AbortSignal,
    kind?: ScriptKind,
  ): Promise<string>;
  /** A connection from there to a port. */
  dial(host: string, port: number): Promise<Duplex>;
  /** Control runs there, and reaches nodes by their addresses. */
  readonly isHere?: true;
  /** On a file system that all nodes share: it gets a folder for each cluster. */
  folder(): Promise<string>;
  /** The command of the agent, which is brought to that file system if it is not there yet. */
  agent(signal: AbortSignal): Promise<string[]>;
}

const run = promisify(execFile);
const dialMs = 5_000;
/** Of a script; as many bytes take the jobs of thousands of clusters. */
export const limits = { timeoutMs: 90_000, keptBytes: 64 * 2 ** 20 };

/** This machine as a login node. */
export function localLogin(config: Pick<Config, "nodeEnv" | "slurmConf" | "home">): Login {
  const { nodeEnv, slurmConf, home } = config;
  const env = {
    ...nodeEnv,
    HOME: homedir(),
    USER: systemUser().name,
    ...(slurmConf !== undefined && { SLURM_CONF: slurmConf }),
  };
  const { timeoutMs: timeout, keptBytes: maxBuffer } = limits;
  return {
    async run(script, args, signal, kind) {
      signal?.throwIfAborted();
      const options = { env, timeout, maxBuffer, ...(signal && kind !== "whole" && { signal }) };
      return run("bash", ["-c", script, "bash", ...args], options).then(
        ({ stdout }) => stdout,
        (error: Error & { stderr?: string }) => {
          if (kind !== "whole") signal?.throwIfAborted();
          const complaint = complaintOf(error.stderr ?? "", error.message);
          throw new AppError("CloudError", complaint, {}, error);
        },
      );
    },
    async dial(host, port) {
      const socket = connect({ host, port, noDelay: true });
      socket.setTimeout(dialMs, () => socket.destroy(new Error("no answer")));
      await once(socket, "connect");
      return socket.setTimeout(0);
    },
    isHere: true,
    folder: async () => join(home, "slurm"),
    agent: async () => [process.execPath, ...programArgs("agent")],
  };
}

/** The last thing that a command of Slurm wrote, without the name of the command. */
export function complaintOf(stderr: string, otherwise: string): string {
  const said = stderr
    .trim()
    .split("\n")
    .at(-1)
    ?.replace(/^\w+: (error: )?/, "");
  return `Slurm: ${said || otherwise}`;
}
