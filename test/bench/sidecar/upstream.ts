import { createServer, type Socket } from "node:net";
import { adopt, type Peer, shared } from "../../../sidecar/forward/sockets.ts";
import { newToken, stamp } from "./token.ts";

/**
 * The server behind every proxy. It reads no more of a request than a bench needs: `/answer/N/M`
 * answers N bytes after a body of M, `/tokens` sends a token 20 times a second for ever, `/silence`
 * begins an answer and sends nothing more.
 */
const server = createServer({ pauseOnConnect: true, noDelay: true });
server.on("connection", (accepted) => new Connection(accepted));
server.listen({ host: "127.0.0.1", port: 0, backlog: 4_096 }, () =>
  process.send?.(server.address()),
);

const everyMs = 50;
const turns = Array.from({ length: everyMs }, () => new Set<Socket>());
const answers = new Map<number, Buffer>();
const streamHead = Buffer.from(
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
);
const headEnd = "\r\n\r\n";
const firstTurnMs = performance.now();
let streams = 0;
let turnsDone = 0;

class Connection implements Peer {
  readonly #socket: Socket;
  #left = 0;
  #answerBytes = 0;
  #turn: Set<Socket> | undefined;

  constructor(accepted: Socket) {
    this.#socket = adopt(accepted, this);
  }

  read(bytes: Buffer, to: number): Buffer {
    if (this.#left > 0) this.#readBody(to);
    else this.#readHead(bytes, to);
    return shared;
  }

  #readHead(bytes: Buffer, to: number): void {
    const words = bytes.toString("latin1", 0, 40).split(/[ /]+/, 4);
    if (words[1] === "tokens" || words[1] === "silence") return void this.#stream(words[1]);
    this.#answerBytes = Number(words[2]);
    this.#left = Number(words[3]);
    const headTo = bytes.indexOf(headEnd) + headEnd.length;
    if (headTo > to || headTo < headEnd.length) throw new Error("a head came in pieces");
    this.#readBody(to - headTo);
  }

  #readBody(bytes: number): void {
    this.#left -= bytes;
    if (this.#left <= 0) this.#socket.write(answerOf(this.#answerBytes));
  }

  #stream(kind: "tokens" | "silence"): void {
    this.#socket.write(streamHead);
    if (kind === "silence") return;
    this.#turn = turns[streams++ % turns.length];
    this.#turn?.add(this.#socket);
  }

  drained(): void {}

  ended(): void {
    this.#socket.destroy();
  }

  closed(): void {
    this.#turn?.delete(this.#socket);
  }
}

function answerOf(bytes: number): Buffer {
  const known = answers.get(bytes);
  if (known !== undefined) return known;
  const head = `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${bytes}\r\n\r\n`;
  const answer = Buffer.concat([Buffer.from(head), Buffer.alloc(bytes, "x")]);
  answers.set(bytes, answer);
  return answer;
}

/** Sends what is due: a fiftieth of the streams each millisecond. */
setInterval(() => {
  const due = Math.floor(performance.now() - firstTurnMs);
  for (; turnsDone < due; turnsDone += 1)
    for (const socket of turns[turnsDone % turns.length] ?? []) socket.write(stamp(newToken()));
}, 1);

process.once("disconnect", () => process.exit(0));
