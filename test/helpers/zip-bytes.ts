import { crc32, deflateRawSync } from "node:zlib";

/** A member of a zip. Whatever is not given is what a regular archive has. */
export interface Part {
  readonly name: string | Buffer;
  /** What it unpacks to. */
  readonly content?: string | Buffer;
  /** Kind and permissions, as in stat(2). */
  readonly mode?: number;
  /** 0 stored, 8 deflated; others are written as stored. */
  readonly method?: number;
  /** Bit 0 encrypted, bit 3 sizes follow the data, bit 11 the name is UTF-8. */
  readonly flags?: number;
  /** The bytes in the archive, in place of the packed content. */
  readonly packed?: Buffer;
  readonly crc?: number;
  /** Sizes as both headers state them. */
  readonly size?: number;
  readonly packedSize?: number;
  /** Extra fields of the central record. */
  readonly extra?: Buffer;
  /** The name in the local header, in place of the one in the central record. */
  readonly localName?: string;
  readonly localSignature?: number;
  /** Where the central record says that the member lies; it writes no bytes of its own then. */
  readonly at?: number;
}

/** What the end of the archive states, in place of the truth. */
export interface End {
  readonly entries?: number;
  readonly directoryAt?: number;
  readonly directorySize?: number;
  readonly disk?: number;
  readonly comment?: Buffer;
  readonly commentLength?: number;
  /** Stands between the directory and the end record. */
  readonly before?: (directoryEnd: number) => Buffer;
}

export const signatures = { local: 0x04034b50, central: 0x02014b50, end: 0x06054b50 } as const;
const utf8 = 1 << 11;
const sizesFollow = 1 << 3;
/** Made by Unix, version 2.0. */
const madeBy = (3 << 8) | 20;

/** Numbers of 2 or 4 bytes each, least byte first. */
export function numbers(...given: (readonly [value: number, bytes: 2 | 4 | 8])[]): Buffer {
  return Buffer.concat(
    given.map(([value, bytes]) => {
      const buffer = Buffer.alloc(8);
      buffer.writeBigUInt64LE(BigInt(value) & 0xffff_ffff_ffff_ffffn);
      return buffer.subarray(0, bytes);
    }),
  );
}

/** An extra field of a header. Source: APPNOTE.TXT section 4.5. */
export const extraField = (id: number, content: Buffer): Buffer =>
  Buffer.concat([numbers([id, 2], [content.length, 2]), content]);

/** An archive of these parts, byte for byte as they say, however little they fit together. */
export function zipBytes(parts: readonly Part[], end: End = {}): Buffer {
  const body: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const part of parts) {
    const facts = factsOf(part);
    directory.push(centralRecord(part, facts, part.at ?? offset));
    if (part.at !== undefined) continue;
    const local = localMember(part, facts);
    body.push(local);
    offset += local.length;
  }
  const records = Buffer.concat(directory);
  const between = end.before?.(offset + records.length) ?? Buffer.alloc(0);
  return Buffer.concat([...body, records, between, endRecord(end, parts.length, offset, records)]);
}

type Facts = ReturnType<typeof factsOf>;

function factsOf({ name, content = "", method = 8, flags = utf8, packed, ...given }: Part) {
  const bytes = Buffer.from(content as string);
  const data = packed ?? (method === 8 ? deflateRawSync(bytes) : bytes);
  return {
    ...{ name: Buffer.from(name as string), method, flags, data },
    crc: given.crc ?? crc32(bytes),
    size: given.size ?? bytes.length,
    packedSize: given.packedSize ?? data.length,
  };
}

function localMember({ localName, localSignature = signatures.local }: Part, facts: Facts): Buffer {
  const name = localName === undefined ? facts.name : Buffer.from(localName);
  const streamed = (facts.flags & sizesFollow) !== 0;
  const sums = [facts.crc, facts.packedSize, facts.size] as const;
  const [crc, packedSize, size] = streamed ? [0, 0, 0] : sums;
  return Buffer.concat([
    numbers([localSignature, 4], [20, 2], [facts.flags, 2], [facts.method, 2], [0, 4], [crc, 4]),
    numbers([packedSize, 4], [size, 4], [name.length, 2], [0, 2]),
    name,
    facts.data,
    ...(streamed ? [numbers([0x08074b50, 4], ...sums.map((sum) => [sum, 4] as const))] : []),
  ]);
}

function centralRecord(
  { mode = 0o100_644, extra = Buffer.alloc(0) }: Part,
  facts: Facts,
  at: number,
) {
  const { name, flags, method, crc, packedSize, size } = facts;
  return Buffer.concat([
    numbers([signatures.central, 4], [madeBy, 2], [20, 2], [flags, 2], [method, 2], [0, 4]),
    numbers([crc, 4], [packedSize, 4], [size, 4], [name.length, 2], [extra.length, 2], [0, 2]),
    numbers([0, 2], [0, 2], [mode * 65_536, 4], [at, 4]),
    name,
    extra,
  ]);
}

function endRecord(end: End, count: number, directoryAt: number, records: Buffer): Buffer {
  const { entries = count, disk = 0, comment = Buffer.alloc(0) } = end;
  return Buffer.concat([
    numbers([signatures.end, 4], [disk, 2], [disk, 2], [entries, 2], [entries, 2]),
    numbers([end.directorySize ?? records.length, 4], [end.directoryAt ?? directoryAt, 4]),
    numbers([end.commentLength ?? comment.length, 2]),
    comment,
  ]);
}
