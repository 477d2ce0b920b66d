const opcodes = Symbol("opcodes");

/** A value that only a constructor of this file makes: something that JSON has no word for. */
export interface Opcodes {
  readonly [opcodes]: Buffer;
}

/** What can be pickled. Whole numbers become `int`, others `float`; plain objects become `dict`. */
export type Value =
  | null
  | boolean
  | number
  | string
  | Opcodes
  | readonly Value[]
  | { readonly [key: string]: Value };

/** A pickled `None` as text: what the fields hold that existing clients always unpickle. */
export const encodedNull = "gAROLg==";

/**
 * The value in pickle protocol 4. The protocol's existing clients unpickle errors, and those below
 * API 49 handles too. Source: Python's pickletools, "protocol 4" (frames are optional there).
 */
export const pickle = (value: Value): Buffer =>
  Buffer.concat([code.protocol, encode(value), code.stop]);

/** The pickled value as base64 text, the form in which it travels inside JSON. */
export const pickleText = (value: Value): string => pickle(value).toString("base64");

/** A Python tuple. */
export const tuple = (items: readonly Value[]): Opcodes =>
  items.length === 0 ? raw(code.emptyTuple) : raw(code.mark, ...items.map(encode), code.tuple);

/** A module's class or function; `name` may be dotted, as in `Class.method`. */
export const global = (module: string, name: string): Opcodes =>
  raw(encode(module), encode(name), code.stackGlobal);

/** What calling something with positional arguments returns. */
export const call = (callable: Opcodes, args: readonly Value[]): Opcodes =>
  raw(callable[opcodes], encode(tuple(args)), code.reduce);

/** An object of a class, made without its constructor and then given its state. */
export const instance = (cls: Opcodes, state: { readonly [key: string]: Value }): Opcodes =>
  raw(cls[opcodes], code.emptyTuple, code.newObject, encode(state), code.build);

const raw = (...parts: readonly Buffer[]): Opcodes => ({ [opcodes]: Buffer.concat(parts) });

/** Source: the opcode table of Python's pickletools. */
const code = {
  protocol: Buffer.from([0x80, 4]),
  stop: Buffer.from("."),
  none: Buffer.from("N"),
  true: Buffer.from([0x88]),
  false: Buffer.from([0x89]),
  mark: Buffer.from("("),
  tuple: Buffer.from("t"),
  emptyTuple: Buffer.from(")"),
  emptyList: Buffer.from("]"),
  appends: Buffer.from("e"),
  emptyDict: Buffer.from("}"),
  setItems: Buffer.from("u"),
  stackGlobal: Buffer.from([0x93]),
  reduce: Buffer.from("R"),
  newObject: Buffer.from([0x81]),
  build: Buffer.from("b"),
} as const;

function encode(value: Value): Buffer {
  if (value === null) return code.none;
  if (typeof value === "boolean") return value ? code.true : code.false;
  if (typeof value === "number") return encodeNumber(value);
  if (typeof value === "string") return encodeText(value);
  if (isOpcodes(value)) return value[opcodes];
  if (isList(value)) return encodeList(value);
  const items = Object.entries(value).flatMap(([key, item]) => [encodeText(key), encode(item)]);
  return Buffer.concat([code.emptyDict, code.mark, ...items, code.setItems]);
}

const isOpcodes = (value: object): value is Opcodes => opcodes in value;
const isList = (value: object): value is readonly Value[] => Array.isArray(value);

const encodeList = (items: readonly Value[]): Buffer =>
  Buffer.concat([code.emptyList, code.mark, ...items.map(encode), code.appends]);

function encodeText(text: string): Buffer {
  const utf8 = Buffer.from(text, "utf8");
  const head = Buffer.alloc(5);
  head.write("X", "latin1");
  head.writeUInt32LE(utf8.length, 1);
  return Buffer.concat([head, utf8]);
}

function encodeNumber(value: number): Buffer {
  if (!Number.isSafeInteger(value)) return encodeFloat(value);
  return value === (value | 0) ? encodeInt32(value) : encodeLong(BigInt(value));
}

function encodeInt32(value: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.write("J", "latin1");
  bytes.writeInt32LE(value, 1);
  return bytes;
}

function encodeLong(value: bigint): Buffer {
  const bytes = Buffer.alloc(10);
  bytes.set([0x8a, 8]);
  bytes.writeBigInt64LE(value, 2);
  return bytes;
}

function encodeFloat(value: number): Buffer {
  const bytes = Buffer.alloc(9);
  bytes.write("G", "latin1");
  bytes.writeDoubleBE(value, 1);
  return bytes;
}
