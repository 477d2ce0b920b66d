import type { Socket } from "node:net";
import { dial, type Peer } from "../../../sidecar/forward/sockets.ts";

/** Sends the requests that it is told, one a message, and answers how long each took until its end. */
const key = process.argv[2] ?? "";
const buffer = Buffer.allocUnsafeSlow(1_048_576);

interface Order {
  readonly port: number;
  readonly bodyBytes: number;
  readonly answerBytes: number;
}

class Transfer implements Peer {
  readonly #socket: Socket;
  readonly #order: Order;
  readonly #since = performance.now();
  #left = -1;

  constructor(order: Order) {
    this.#order = order;
    this.#socket = dial({ host: "127.0.0.1", port: order.port }, this);
  }

  connected(): void {
    const { bodyBytes, answerBytes } = this.#order;
    const method = bodyBytes > 0 ? "POST" : "GET";
    this.#socket.write(
      `${method} /answer/${answerBytes}/${bodyBytes} HTTP/1.1\r\nHost: bench\r\n` +
        `Content-Length: ${bodyBytes}\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    );
    if (bodyBytes > 0) this.#socket.write(bodyOf(bodyBytes));
  }

  read(bytes: Buffer, to: number): Buffer {
    this.#take(bytes, to);
    return buffer;
  }

  #take(bytes: Buffer, to: number): void {
    if (this.#left < 0) {
      if (bytes.toString("latin1", 9, 12) !== "200") throw new Error("a transfer was refused");
      const headTo = bytes.indexOf("\r\n\r\n") + 4;
      this.#left = this.#order.answerBytes + headTo;
    }
    this.#left -= to;
    if (this.#left > 0) return;
    process.send?.({ ms: performance.now() - this.#since });
    this.#socket.destroy();
  }

  drained(): void {}

  ended(): void {
    throw new Error(`a transfer ended with ${this.#left} bytes left`);
  }

  closed(error?: Error): void {
    if (error !== undefined) throw error;
  }
}

const bodies = new Map<number, Buffer>();

function bodyOf(bytes: number): Buffer {
  const body = bodies.get(bytes) ?? Buffer.alloc(bytes, "x");
  bodies.set(bytes, body);
  return body;
}

process.on("message", (order: Order) => new Transfer(order));
process.once("disconnect", () => process.exit(0));
