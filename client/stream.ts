import { ifPossible } from "../common/errors.ts";
import { protocol } from "../common/product.ts";

/** What a stream brings: text for the user, or a control line meant for the client. */
export type Piece =
  | { readonly kind: "text"; readonly bytes: Buffer }
  | { readonly kind: "control"; readonly code: string; readonly message: string };

/** Splits the bytes of a stream into text and control lines. */
export interface Decoder {
  /** The pieces that are sure by now; a line that may yet become a control line is held back. */
  push(chunk: Uint8Array): Piece[];
  /** What was held back, once nothing more comes. */
  end(): Piece[];
}

const tag = Buffer.from(`<${protocol.payloadTag}`);
const controlLine = new RegExp(
  `^<${protocol.payloadTag}[^>]*>(.*)</${protocol.payloadTag}[^>]*>\\s*$`,
);
const codedText = /^<(\w+)>([\s\S]*)<\/\1>$/;
const newline = 10;
/** No control line is longer; a longer line is the user's. */
const longestControlLine = 65_536;

/** Opens a decoder; `startsLine` is false when the first byte continues a line. */
export function openDecoder(startsLine = true): Decoder {
  let held: Buffer = Buffer.alloc(0);
  let atLineStart = startsLine;
  return {
    push(chunk) {
      const pieces: Piece[] = [];
      let rest = held.length === 0 ? Buffer.from(chunk) : Buffer.concat([held, chunk]);
      held = Buffer.alloc(0);
      while (rest.length > 0) {
        const suspect = atLineStart && mayBeControl(rest);
        const length = suspect ? lineLength(rest) : textLength(rest);
        if (length === undefined) {
          held = rest;
          break;
        }
        const taken = rest.subarray(0, length);
        pieces.push((suspect && readControl(taken)) || { kind: "text", bytes: taken });
        atLineStart = taken[length - 1] === newline;
        rest = rest.subarray(length);
      }
      return pieces;
    },
    end: () => (held.length === 0 ? [] : [{ kind: "text", bytes: held }]),
  };
}

function mayBeControl(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, tag.length);
  return bytes.subarray(0, length).equals(tag.subarray(0, length));
}

/** The length of the first line with its end; undefined while it has none. */
function lineLength(bytes: Buffer): number | undefined {
  const end = bytes.indexOf(newline);
  if (end >= 0) return end + 1;
  return bytes.length > longestControlLine ? bytes.length : undefined;
}

/** The length of the text before the next line that may be a control line. */
function textLength(bytes: Buffer): number {
  const next = bytes.indexOf("\n<");
  return next < 0 ? bytes.length : next + 1;
}

function readControl(line: Buffer): Piece | undefined {
  const [, payload] = controlLine.exec(line.toString()) ?? [];
  if (payload === undefined) return undefined;
  const [, code, message] = codedText.exec(readText(payload)) ?? [];
  if (code === undefined || message === undefined) return undefined;
  return { kind: "control", code, message };
}

function readText(json: string): string {
  const text: unknown = ifPossible(() => JSON.parse(json));
  return typeof text === "string" ? text : "";
}
