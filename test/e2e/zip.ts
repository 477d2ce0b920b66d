import { inflateRawSync } from "node:zlib";

/**
 * The files of a zip by name, as text. Source: APPNOTE.TXT sections 4.3.12 and 4.3.16; enough of it
 * to read what has no comment and is below 4 GB.
 */
export function filesOfZip(zip: Buffer): Record<string, string> {
  const end = zip.lastIndexOf("PK\x05\x06");
  const files: Record<string, string> = {};
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [method, size] = [zip.readUInt16LE(at + 10), zip.readUInt32LE(at + 20)];
    const [nameSize, extraSize] = [zip.readUInt16LE(at + 28), zip.readUInt16LE(at + 30)];
    const name = zip.toString("utf8", at + 46, at + 46 + nameSize);
    const packed = bytesAt(zip, zip.readUInt32LE(at + 42), size);
    files[name] = (method === 0 ? packed : inflateRawSync(packed)).toString();
    at += 46 + nameSize + extraSize + zip.readUInt16LE(at + 32);
  }
  return files;
}

/** What follows the local header at an offset. */
function bytesAt(zip: Buffer, header: number, size: number): Buffer {
  const start = header + 30 + zip.readUInt16LE(header + 26) + zip.readUInt16LE(header + 28);
  return zip.subarray(start, start + size);
}
