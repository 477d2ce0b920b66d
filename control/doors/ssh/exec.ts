import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ClientChannel } from "ssh2";
import { AppError, fail } from "../../../common/errors.ts";
import { shellWord } from "../../../common/shell-word.ts";
import type { SshConnections } from "./connections.ts";
import { nameOf, type SshTarget } from "./target.ts";
import { isFullOfSessions, persist, within } from "./trouble.ts";

/** A script to be run on a machine. */
export interface RemoteScript {
  /** What it does, for messages: `unpacking the agent`. */
  readonly what: string;
  readonly text: string;
  readonly args?: readonly string[];
  /** Bytes for its standard input. */
  readonly input?: Readable | Uint8Array;
  /** Whose language it is written in; bash unless it says otherwise. */
  readonly shell?: "sh" | "bash";
  readonly timeoutMs: number;
  /** How much of what it prints is kept; usually a quarter of a megabyte. */
  readonly keptBytes?: number;
}

/** How a script ended. Of what it printed only the first bytes are kept. */
export interface Ran {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

const usualKeptBytes = 256 * 1024;

/** Runs a script on a machine to its end; throws `TimeoutError`, or `CloudError` when the way there broke. */
export async function execOn(
  ssh: SshConnections,
  target: SshTarget,
  script: RemoteScript,
  signal?: AbortSignal,
): Promise<Ran> {
  const { what, input, timeoutMs } = script;
  const source = input instanceof Uint8Array ? Readable.from([input]) : input;
  const late = () =>
    new AppError("TimeoutError", `host ${nameOf(target)}: ${what} took more than ${timeoutMs} ms`);
  let begun: Begun | undefined;
  try {
    begun = await begin(ssh, target, script, signal);
    // A script that ends without reading all of its input is not an error of its own.
    if (source !== undefined) pipeline(source, begun.channel).catch(() => {});
    return await within(begun.ran, timeoutMs, late, signal);
  } catch (error) {
    // What reads it may hang, and is not waited for.
    source?.destroy();
    // Only where its input is still open: whatever reads that ends by itself.
    begun?.channel.signal("KILL");
    begun?.channel.destroy();
    throw error;
  }
}

/** About ten seconds: others may use the sessions for longer than a moment. */
const sessionTries = 16;

interface Begun {
  readonly channel: ClientChannel;
  readonly ran: Promise<Ran>;
}

async function begin(
  ssh: SshConnections,
  target: SshTarget,
  script: RemoteScript,
  signal?: AbortSignal,
): Promise<Begun> {
  const { text, args = [], input, shell = "bash" } = script;
  const command = scriptCommand(shell, text, args) + (input === undefined ? " < /dev/null" : "");
  // Its end may come together with the answer that it was begun.
  let ran = Promise.withResolvers<Ran>().promise;
  const open = () =>
    ssh.channel<ClientChannel>(
      target,
      (client, done) =>
        client.exec(command, (error, begun) => {
          if (error === undefined) ran = readRan(begun, target, script);
          done(error, begun);
        }),
      signal,
    );
  const channel = await persist(isFullOfSessions, open, { times: sessionTries, signal });
  return { channel, ran };
}

/** As `execOn`; answers what it printed, and throws what it complained of when it fails. */
export async function runOn(
  ssh: SshConnections,
  target: SshTarget,
  script: RemoteScript,
  signal?: AbortSignal,
): Promise<string> {
  const { code, signal: killedBy, stdout, stderr } = await execOn(ssh, target, script, signal);
  if (code === 0) return stdout;
  const said =
    stderr.trim().split("\n").at(-1) || (killedBy ? `killed by ${killedBy}` : `code ${code}`);
  fail("CloudError", `host ${nameOf(target)}: ${script.what} failed: ${complaintOf(said, code)}`);
}

/** What people should do, where the words of the shell do not say it. */
function complaintOf(said: string, code: number | null): string {
  if (/No space left on device|Disk quota exceeded/.test(said)) return `its disk is full (${said})`;
  if (code === 127 && /bash/.test(said)) return "it has no bash; install bash";
  return said;
}

function readRan(
  channel: ClientChannel,
  target: SshTarget,
  { what, keptBytes = usualKeptBytes }: RemoteScript,
): Promise<Ran> {
  const { promise, resolve, reject } = Promise.withResolvers<Ran>();
  const stdout = keepFirst(channel, keptBytes);
  const stderr = keepFirst(channel.stderr, keptBytes);
  promise.catch(() => {});
  let ended: Pick<Ran, "code" | "signal"> | undefined;
  channel.on("exit", (code: number | null, signal?: string) => {
    ended = { code, signal: signal ?? null };
  });
  channel.once("close", () => {
    if (ended !== undefined) return resolve({ ...ended, stdout: stdout(), stderr: stderr() });
    const lost = `host ${nameOf(target)}: the connection was lost while ${what}`;
    reject(new AppError("CloudError", lost));
  });
  return promise;
}

/** Reads a stream to its end; answers its beginning. */
function keepFirst(stream: Readable, keptBytes: number): () => string {
  const chunks: Buffer[] = [];
  let kept = 0;
  stream.on("error", () => {});
  stream.on("data", (chunk: Buffer) => {
    if (kept < keptBytes) chunks.push(chunk.subarray(0, keptBytes - kept));
    kept += chunk.length;
  });
  return () => Buffer.concat(chunks).toString("utf8");
}

/** The command that runs a script with arguments, whatever shell it is handed to. */
const scriptCommand = (shell: "sh" | "bash", script: string, args: readonly string[]): string =>
  [shell, "-c", script, shell, ...args].map(shellWord).join(" ");
