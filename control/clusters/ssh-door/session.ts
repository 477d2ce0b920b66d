import { once } from "node:events";
import { PassThrough } from "node:stream";
import type { ServerChannel, Session } from "ssh2";
import { toAppError } from "../../../common/errors.ts";
import { agentOperations as api } from "../../../contract/agent-api.ts";
import { openFrames, parseLine } from "../../../contract/frames.ts";
import {
  mostCells,
  type ShellInput,
  ShellOutput,
  type ShellStart,
  type TerminalSize,
  toFrame,
} from "../../../contract/shell-api.ts";
import { sftpCommand } from "../../../contract/ssh-door.ts";
import type { Context } from "../../context.ts";
import type { Place } from "./place.ts";

/** What OpenSSH leaves where it is not the command that failed. */
const troubleCode = 255;

/** Leads a session to a shell on a node, with the terminal that it asks for. */
export function leadSession(ctx: Context, place: Place, session: Session): void {
  let terminal: ShellStart["terminal"] = null;
  let input: PassThrough | undefined;
  const begin = (channel: ServerChannel | undefined, command: string | null) => {
    // A session runs one command; ssh2 opens no channel for a second.
    if (channel === undefined) return;
    input = new PassThrough();
    void lead(ctx, place, channel, input, { command, terminal });
  };
  /** While the node does not read, sizes do not pile up: it gets the last one then. */
  const resize = () => {
    if (terminal === null || !input?.writable) return;
    if (!input.writableNeedDrain) input.write(frameOf({ kind: "resize", size: terminal }));
    else if (!input.listeners("drain").includes(resize)) input.once("drain", resize);
  };
  session.on("pty", (accept, _reject, { term, ...size }) => {
    terminal = { ...sizeOf(size), type: /^[\w.+-]{1,64}$/.test(term) ? term : "xterm" };
    accept?.();
  });
  session.on("window-change", (accept, _reject, size) => {
    if (terminal !== null) terminal = { ...terminal, ...sizeOf(size) };
    resize();
    accept?.();
  });
  session.on("shell", (accept) => begin(accept(), null));
  session.on("exec", (accept, _reject, { command }) => begin(accept(), command));
  session.on("subsystem", (accept, reject, { name }) => {
    if (name === "sftp") begin(accept(), sftpCommand);
    else reject();
  });
}

/** The protocol has room for sizes that no terminal has. */
const sizeOf = ({ cols, rows }: { cols: number; rows: number }): TerminalSize => ({
  columns: Math.min(cols, mostCells),
  rows: Math.min(rows, mostCells),
});

const frameOf = (frame: ShellInput) => toFrame(frame);

/** Both ways until either side ends. */
async function lead(
  ctx: Context,
  { cluster, rank }: Place,
  channel: ServerChannel,
  input: PassThrough,
  start: ShellStart,
): Promise<void> {
  const gone = new AbortController();
  channel.once("close", () => gone.abort());
  channel.on("error", () => gone.abort());
  input.on("error", () => {});
  input.write(toFrame(start));
  carryInput(channel, input);
  try {
    const agent = ctx.agent(cluster, rank);
    const { body } = await agent.open(api.openShell, {}, gone.signal, input);
    await carryOutput(body, channel, gone.signal);
  } catch (error) {
    if (!gone.signal.aborted) tellTrouble(channel, toAppError(error).message);
  } finally {
    input.destroy();
    channel.end();
  }
}

function tellTrouble(channel: ServerChannel, why: string): void {
  channel.stderr.write(`${why}\r\n`);
  channel.exit(troubleCode);
}

/** Reads no more than the node takes. */
function carryInput(channel: ServerChannel, input: PassThrough): void {
  channel.on("data", (chunk: Buffer) => {
    if (!input.writable) return;
    input.write(frameOf({ kind: "input", bytes: chunk.length }));
    if (input.write(chunk)) return;
    channel.pause();
    input.once("drain", () => channel.resume());
  });
  channel.once("end", () => {
    if (input.writable) input.write(frameOf({ kind: "inputEnds" }));
  });
}

async function carryOutput(
  body: AsyncIterable<Uint8Array>,
  channel: ServerChannel,
  signal: AbortSignal,
): Promise<void> {
  const frames = openFrames(body);
  for (let line = await frames.line(); line !== undefined; line = await frames.line()) {
    const frame = parseLine(ShellOutput, line);
    if (frame === undefined) break;
    if (frame.kind === "exit") return tellExit(channel, frame.code, frame.signal);
    const to = frame.kind === "output" ? channel : channel.stderr;
    for await (const chunk of frames.bytes(frame.bytes))
      if (!to.write(chunk)) await once(to, "drain", { signal });
  }
  tellTrouble(channel, "the shell was disconnected: its node does not answer");
}

function tellExit(channel: ServerChannel, code: number | null, signal: string | null): void {
  if (code !== null) channel.exit(code);
  else channel.exit((signal ?? "SIGKILL").replace(/^SIG/, ""));
}
