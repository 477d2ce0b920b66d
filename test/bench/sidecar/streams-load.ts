import type { Socket } from "node:net";
import { dial, type Peer, shared } from "../../../sidecar/forward/sockets.ts";
import { quantile } from "../measure.ts";
import { agesOf } from "./token.ts";

/**
 * Opens streams, says so, and on each message listens for so long: answers how many tokens came, and
 * how old they were. Streams that end, or answer otherwise, end this process.
 */
const [port = "", path = "", key = "", count = ""] = process.argv.slice(2);
const request = `GET ${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${key}\r\n\r\n`;
const openingAtMost = 256;
let ages: number[] | undefined;
let begun = 0;
let opened = 0;

class Stream implements Peer {
  readonly #socket: Socket;
  #isOpen = false;

  constructor() {
    // Other addresses of this machine have ports of their own.
    const localAddress = `127.0.0.${2 + (begun++ % 4)}`;
    this.#socket = dial({ host: "127.0.0.1", port: Number(port), localAddress }, this);
  }

  connected(): void {
    this.#socket.write(request);
  }

  read(bytes: Buffer, to: number): Buffer {
    if (!this.#isOpen) this.#open(bytes);
    if (ages !== undefined) agesOf(bytes, to, (us) => ages?.push(us));
    return shared;
  }

  #open(bytes: Buffer): void {
    const status = bytes.toString("latin1", 9, 12);
    if (status !== "200") throw new Error(`stream ${opened} was answered ${status}`);
    this.#isOpen = true;
    opened += 1;
    if (begun < Number(count)) new Stream();
    if (opened === Number(count)) process.send?.("open");
  }

  drained(): void {}

  ended(): void {
    throw new Error(`one of ${opened} streams has ended`);
  }

  closed(error?: Error): void {
    throw new Error(`one of ${opened} streams broke`, { cause: error });
  }
}

while (begun < Math.min(openingAtMost, Number(count))) new Stream();

process.on("message", ({ ms }: { ms: number }) => {
  ages = [];
  setTimeout(() => {
    const all = ages ?? [];
    process.send?.({ tokens: all.length, p50: quantile(all, 0.5), p99: quantile(all, 0.99) });
    ages = undefined;
  }, ms);
});
process.once("disconnect", () => process.exit(0));
