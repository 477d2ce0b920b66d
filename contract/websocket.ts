import { createHash, randomBytes } from "node:crypto";
import { Duplex } from "node:stream";

/** How clients and control carry bytes over a WebSocket. Source: RFC 6455. */

/** Larger messages break the connection. */
const largestBytes = 1 << 20;
/** What the heads of the frames of a message may take beside it. */
const headsBytes = 4_096;
const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
/** The first byte of a message where messages have types; others need no answer. */
const types = { data: 0, ping: 1 } as const;

interface Sides {
  /** Only clients mask what they send. */
  readonly side: "client" | "server";
  /** What came with the answer, or the question, that upgraded the connection. */
  readonly head: Uint8Array;
  /** Each message begins with a byte that says what it is, and pings are answered. */
  readonly isTyped?: boolean;
}

/** What a server answers to the key of a client. */
export const acceptOf = (key: string): string =>
  createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");

/** The bytes of all messages, as one stream each way, over a connection that was upgraded. */
export function openWebSocket(socket: Duplex, { side, head, isTyped = false }: Sides): Duplex {
  const send = (opcode: number, payload: Uint8Array, done?: (error?: Error | null) => void) =>
    socket.write(toFrame(opcode, payload, side), done);
  let isOver = false;
  const way = new Duplex({
    allowHalfOpen: false,
    read: () => void socket.resume(),
    write: (chunk: Buffer, _encoding, done) =>
      send(opcodes.binary, isTyped ? Buffer.concat([Buffer.of(types.data), chunk]) : chunk, done),
    final: (done) => {
      if (socket.destroyed) done();
      else send(opcodes.close, Buffer.of(3, 232), () => socket.end(done));
    },
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });

  function answer(opcode: number, payload: Uint8Array): void {
    if (socket.writableLength > largestBytes)
      way.destroy(new Error("it does not read its answers"));
    else send(opcode, payload);
  }
  function hear(message: Buffer): void {
    if (!isTyped) pass(message);
    else if (message[0] === types.data) pass(message.subarray(1));
    else if (message[0] === types.ping) answer(opcodes.binary, message);
  }
  function finish(): void {
    if (!isOver) way.push(null);
    isOver = true;
  }
  function pass(bytes: Buffer): void {
    if (bytes.length > 0 && !way.push(bytes)) socket.pause();
  }

  const read = openReader(side, (opcode, payload) => {
    if (opcode === opcodes.ping) answer(opcodes.pong, payload);
    else if (opcode === opcodes.close) finish();
    else if (opcode !== opcodes.pong) hear(payload);
  });
  const take = (chunk: Uint8Array) => {
    try {
      if (!isOver) read(chunk);
    } catch (error) {
      way.destroy(error as Error);
    }
  };
  socket.on("data", take);
  // What came before the end is still read.
  socket.once("end", finish);
  socket.once("close", finish);
  socket.on("error", (error) => way.destroy(error));
  take(head);
  return way;
}

/** Gathers frames out of chunks, and hands on each whole message. */
function openReader(
  side: Sides["side"],
  hear: (opcode: number, payload: Buffer) => void,
): (chunk: Uint8Array) => void {
  let rest: Buffer = Buffer.alloc(0);
  let parts: Buffer[] = [];
  let size = 0;
  return (chunk) => {
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    for (let frame = readFrame(rest); frame !== undefined; frame = readFrame(rest)) {
      rest = rest.subarray(frame.size);
      if (frame.isMasked !== (side === "server")) throw new Error("a frame is masked wrongly");
      if (frame.opcode >= opcodes.close) hear(frame.opcode, frame.payload);
      else {
        parts.push(frame.payload);
        // With their heads: frames without a content take memory, too.
        size += frame.size;
        if (size > largestBytes + headsBytes) throw new Error("a message is too large");
        if (!frame.isLast) continue;
        const message = Buffer.concat(parts);
        parts = [];
        size = 0;
        hear(opcodes.binary, message);
      }
    }
  };
}

/** The first frame, undefined until all of it is there. */
function readFrame(bytes: Buffer) {
  if (bytes.length < 2) return undefined;
  const [first, second] = [bytes.readUInt8(0), bytes.readUInt8(1)];
  const isMasked = second > 127;
  const short = second % 128;
  const maskAt = short === 126 ? 4 : short === 127 ? 10 : 2;
  const start = maskAt + (isMasked ? 4 : 0);
  if (bytes.length < start) return undefined;
  const length =
    maskAt === 2 ? short : maskAt === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (length > largestBytes) throw new Error("a frame is too large");
  const size = start + length;
  if (bytes.length < size) return undefined;
  const payload = Buffer.from(bytes.subarray(start, size));
  if (isMasked) mask(payload, bytes.subarray(maskAt, start));
  return { isLast: first > 127, opcode: first % 16, isMasked, payload, size };
}

function toFrame(opcode: number, payload: Uint8Array, side: Sides["side"]): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  const masking = side === "client" ? 128 : 0;
  head.writeUInt8(128 + opcode, 0);
  head.writeUInt8(masking + (length < 126 ? length : length < 65_536 ? 126 : 127), 1);
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  if (side === "server") return Buffer.concat([head, payload]);
  const [key, masked] = [randomBytes(4), Buffer.from(payload)];
  mask(masked, key);
  return Buffer.concat([head, key, masked]);
}

function mask(payload: Buffer, key: Buffer): void {
  for (let at = 0; at < payload.length; at += 1)
    payload[at] = (payload[at] ?? 0) ^ (key[at % 4] ?? 0);
}
