import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";

interface Cleaner {
  after(clean: () => void | Promise<void>): void;
}

/** Bytes that come over a socket, as text of one character a byte. */
export class Wire {
  readonly socket: Socket;
  text = "";
  /** How the other side ended: `end` properly, `reset`, or undefined while it has not. */
  ended: "end" | "reset" | undefined;
  /** Whether what comes is no requests any more. */
  isTunnel = false;
  /** How long the text must be before a message in it may be whole. */
  #least = 0;
  #wake: () => void = () => {};

  constructor(socket: Socket) {
    this.socket = socket;
    const wake = () => this.#wake();
    socket.on("data", (bytes) => {
      this.text += bytes.toString("latin1");
      wake();
    });
    socket.on("end", () => {
      this.ended ??= "end";
      wake();
    });
    socket.on("error", () => {
      this.ended = "reset";
      wake();
    });
    socket.on("close", wake);
  }

  send(...pieces: (string | Buffer)[]): void {
    for (const piece of pieces)
      this.socket.write(typeof piece === "string" ? Buffer.from(piece, "latin1") : piece);
  }

  /** Waits until the condition holds; fails when the other side ended before. */
  async until(isEnough: () => boolean, what = "what was awaited"): Promise<void> {
    while (!isEnough()) {
      if (this.socket.destroyed || (this.ended !== undefined && this.socket.readableEnded))
        assert.fail(`the connection ended before ${what}; it said ${JSON.stringify(this.text)}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Waits for one answer, takes it from the text, and returns it whole. */
  async answer(isHead = false): Promise<string> {
    let answer: string | undefined;
    await this.until(() => {
      answer = this.take(isHead);
      return answer !== undefined;
    }, "an answer");
    return answer ?? "";
  }

  /** Takes one message from the text; undefined while it is not whole. */
  take(isHead = false): string | undefined {
    // To look into a text is to copy all of its pieces: not with every piece that comes.
    if (this.text.length < this.#least) return undefined;
    const length = messageLength(this.text, isHead, this.ended !== undefined);
    this.#least = length < 0 ? -length : 0;
    if (length < 0) return undefined;
    const message = this.text.slice(0, length);
    this.text = this.text.slice(length);
    return message;
  }

  /** Waits until the other side has ended. */
  async gone(): Promise<void> {
    while (this.ended === undefined && !this.socket.destroyed)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }

  /** Waits until the other side has ended, then ends too; returns all it said. */
  async end(): Promise<string> {
    await this.gone();
    this.socket.end();
    return this.text;
  }
}

/** How long the message at the beginning of the text is; while it is not whole, minus its least length. */
function messageLength(text: string, isHead: boolean, hasEnded: boolean): number {
  const headTo = text.indexOf("\r\n\r\n") + 4;
  if (headTo < 4) return -1;
  const head = text.slice(0, headTo).toLowerCase();
  const status = Number(/^http\/1\.\d (\d+)/.exec(head)?.[1] ?? 0);
  if (isHead || status === 204 || status === 304 || (status >= 100 && status < 200)) return headTo;
  const length = /\ncontent-length: *(\d+)/.exec(head)?.[1];
  if (length !== undefined) return enough(text, headTo + Number(length));
  if (/\ntransfer-encoding: *chunked/.test(head)) {
    const end = /(?:^|\r\n)0(?:;[^\r]*)?\r\n(?:[^\r]+\r\n)*\r\n/.exec(text.slice(headTo));
    return end === null ? -1 : headTo + end.index + end[0].length;
  }
  if (status === 0) return headTo;
  return hasEnded ? text.length : -1;
}

const enough = (text: string, length: number): number => (text.length >= length ? length : -length);

/** A connection whose every byte is the test's own. */
export function dial(t: Cleaner, port: number): Wire {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
  const open = openSocketsOf(t);
  open.add(socket);
  socket.once("close", () => open.delete(socket));
  return new Wire(socket);
}

/** One clean-up a test, and nothing kept of sockets that are closed: some tests open a million. */
const openSockets = new WeakMap<Cleaner, Set<Socket>>();

function openSocketsOf(t: Cleaner): Set<Socket> {
  const known = openSockets.get(t);
  if (known !== undefined) return known;
  const open = new Set<Socket>();
  openSockets.set(t, open);
  t.after(() => {
    for (const socket of open) socket.destroy();
  });
  return open;
}

/** What an upstream was asked, and how it answers each request, by default `200 ok`. */
export interface RawUpstream {
  readonly port: number;
  /** All requests that came whole. */
  readonly requests: string[];
  /** Every connection that was made, the last one last. */
  readonly wires: Wire[];
  answer: (wire: Wire, request: string) => void;
  /** Waits for the nth connection, from 1. */
  connection(nth: number): Promise<Wire>;
}

export const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** Starts an upstream whose every byte is the test's own. */
export async function rawUpstream(t: Cleaner): Promise<RawUpstream> {
  const wires: Wire[] = [];
  const requests: string[] = [];
  let wake = () => {};
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const wire = new Wire(socket);
    wires.push(wire);
    socket.on("data", () => serveAll(wire));
    wake();
  });
  const upstream: RawUpstream = {
    port: 0,
    requests,
    wires,
    answer: (wire, request) =>
      wire.send(okAnswer.slice(0, request.startsWith("HEAD ") ? -2 : undefined)),
    async connection(nth) {
      while (wires.length < nth)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      return wires[nth - 1] ?? assert.fail();
    },
  };
  function serveAll(wire: Wire): void {
    while (!wire.isTunnel) {
      const request = wire.take();
      if (request === undefined) return;
      requests.push(request);
      upstream.answer(wire, request);
    }
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const { socket } of wires) socket.destroy();
    server.close();
  });
  const address = server.address();
  return Object.assign(upstream, { port: typeof address === "object" ? (address?.port ?? 0) : 0 });
}

/** The bytes of a chunked body, however it was cut, and then its trailers. */
export function unchunk(body: string): { text: string; trailers: string } {
  let text = "";
  for (let at = 0; ; ) {
    const sizeTo = body.indexOf("\r\n", at) + 2;
    const size = Number.parseInt(body.slice(at, sizeTo), 16);
    if (size === 0) return { text, trailers: body.slice(sizeTo) };
    text += body.slice(sizeTo, sizeTo + size);
    at = sizeTo + size + 2;
  }
}
