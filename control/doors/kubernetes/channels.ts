import { once } from "node:events";
import { Duplex } from "node:stream";
import { type ClientOptions, WebSocket } from "ws";

/** A command in a container, or a port of a pod: what it reads and writes, and how it ended. */
export interface Channels {
  /** Frames of a channel that came, in order; ends with the connection. */
  onFrame(listener: (channel: number, bytes: Buffer) => void): void;
  send(channel: number, bytes: Uint8Array, done: (error?: Error | null) => void): void;
  /** Says that nothing more comes in a channel. Servers before Kubernetes 1.30 do not understand that. */
  end(channel: number): void;
  pause(): void;
  resume(): void;
  close(): void;
  /** Resolves when the connection has ended, for whatever reason. */
  readonly closed: Promise<void>;
}

/** Source: k8s.io/apimachinery, remotecommand constants. */
const protocols = { halfClosing: "v5.channel.k8s.io", older: "v4.channel.k8s.io" };
const closing = 255;
const handshakeMs = 10_000;

/** Connects; throws what the server says where it refuses. */
export async function openChannels(
  url: string,
  options: ClientOptions,
  signal?: AbortSignal,
): Promise<Channels> {
  signal?.throwIfAborted();
  const socket = new WebSocket(url, [protocols.halfClosing, protocols.older], {
    ...options,
    handshakeTimeout: handshakeMs,
    perMessageDeflate: false,
  });
  // An error is always followed by the end of the connection.
  let failure: Error | undefined;
  socket.on("error", (error) => {
    failure = error;
  });
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  const abort = () => socket.terminate();
  signal?.addEventListener("abort", abort, { once: true });
  const refused = refusalOn(socket);
  // Nothing that comes with the answer is lost before somebody listens.
  socket.once("open", () => socket.pause());
  await Promise.race([once(socket, "open").catch(() => {}), closed, refused]);
  signal?.removeEventListener("abort", abort);
  signal?.throwIfAborted();
  if (socket.readyState !== WebSocket.OPEN) throw failure ?? new Error("the connection was closed");
  return {
    closed,
    onFrame(listener) {
      socket.on("message", (bytes: Buffer) => {
        if (bytes.length > 0) listener(bytes[0] ?? 0, bytes.subarray(1));
      });
      socket.resume();
    },
    send: (channel, bytes, done) =>
      socket.send(Buffer.concat([Buffer.of(channel), bytes]), { binary: true }, done),
    end(channel) {
      if (socket.protocol === protocols.halfClosing)
        socket.send(Buffer.of(closing, channel), { binary: true });
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: () => socket.terminate(),
  };
}

/** Rejects with what the server says instead of switching to our protocol. */
function refusalOn(socket: WebSocket): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  socket.once("unexpected-response", (_request, response) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => void chunks.push(chunk));
    response.once("end", () => {
      const text = Buffer.concat(chunks).toString();
      // What asks the node for us names the whole command.
      const said = readStatus(text).message?.replace(/\b(Post|Get) "[^"]*": /, "") ?? "";
      reject(new Error(`status ${response.statusCode}: ${said}`));
      socket.terminate();
    });
  });
  promise.catch(() => {});
  return promise;
}

const stdin = 0;
const stdout = 1;
const stderr = 2;
const error = 3;

/** How a command ended; 0 is a success. */
export interface Ended {
  readonly code: number;
  readonly said: string;
}

/** A command's standard streams as one; it ends, or fails with what it said, when the command does. */
export function commandStream(channels: Channels): Duplex & { readonly ended: Promise<Ended> } {
  let said = "";
  let status = "";
  const ended = channels.closed.then(() => endOf(status, said.trim()));
  const stream = channelStream(channels, stdin, (channel, bytes) => {
    if (channel === stdout) return bytes;
    if (channel === stderr && said.length < 4_096) said += bytes;
    if (channel === error && status.length < 65_536) status += bytes;
    return undefined;
  });
  void ended.then(({ code, said: why }) => {
    if (code === 0) stream.push(null);
    else stream.destroy(new Error(why));
  });
  return Object.assign(stream, { ended });
}

/** How a command ended, by the status that the API server sends of it. */
function endOf(text: string, said: string): Ended {
  const { status, message, details } = readStatus(text);
  if (status === "Success") return { code: 0, said };
  const code = details?.causes?.find(({ reason }) => reason === "ExitCode")?.message;
  return { code: Number(code ?? -1), said: said || message || "the connection to it was lost" };
}

/** What a refused call answers, and how a command ended. Source: Kubernetes API conventions, Status. */
export interface Status {
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { reason?: string; message?: string }[] };
}

/** A status as the API server sends it; the beginning of a text that is none. */
export function readStatus(text: string): Status {
  try {
    return JSON.parse(text);
  } catch {
    return { message: text.slice(0, 300) };
  }
}

/** A connection to a port of a pod. The first two bytes of each channel only repeat the port's number. */
export function portStream(channels: Channels): Duplex {
  const begun = new Set<number>();
  const stream = channelStream(channels, 0, (channel, bytes) => {
    if (!begun.has(channel)) {
      begun.add(channel);
      return undefined;
    }
    if (channel === 0) return bytes;
    stream.destroy(new Error(String(bytes).trim()));
    return undefined;
  });
  void channels.closed.then(() => stream.push(null));
  return stream;
}

function channelStream(
  channels: Channels,
  writes: number,
  read: (channel: number, bytes: Buffer) => Buffer | undefined,
): Duplex {
  const stream = new Duplex({
    read: () => channels.resume(),
    write: (chunk, _encoding, done) => channels.send(writes, chunk, done),
    final(done) {
      channels.end(writes);
      done();
    },
    destroy(cause, done) {
      channels.close();
      done(cause);
    },
  });
  channels.onFrame((channel, bytes) => {
    const given = read(channel, bytes);
    if (given !== undefined && given.length > 0 && !stream.push(given)) channels.pause();
  });
  return stream;
}
