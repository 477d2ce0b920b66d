import { spawn } from "node:child_process";

/** How a command is run. */
export interface CommandOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Told what has been written so far, each time that there is more. */
  readonly onText?: (text: string) => void;
}

/** How a command ended; null when it had to be killed. */
export interface Ended {
  readonly exitCode: number | null;
  /** What it wrote, both streams in one. */
  readonly text: string;
  readonly tookMs: number;
}

/** Runs a command to its end; one that takes too long is killed with all it started. */
export async function runCommand(
  [file = "", ...args]: readonly string[],
  { env, cwd, timeoutMs, signal, onText }: CommandOptions,
): Promise<Ended> {
  const startedAt = performance.now();
  const child = spawn(file, args, { env, cwd, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output.push(chunk);
      onText?.(Buffer.concat(output).toString("utf8"));
    });

  const tooLong = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const kill = () => killGroup(child.pid);
  tooLong.addEventListener("abort", kill, { once: true });
  const exitCode = await new Promise<number | null>((resolve) => {
    child.once("error", (error) => {
      output.push(Buffer.from(`${error.message}\n`));
      resolve(127);
    });
    child.once("close", resolve);
  });
  tooLong.removeEventListener("abort", kill);
  const text = Buffer.concat(output).toString("utf8");
  return { exitCode, text, tookMs: performance.now() - startedAt };
}

/** Kills a process group that may be gone already. */
export function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
