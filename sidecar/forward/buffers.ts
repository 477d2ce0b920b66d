const bufferBytes = 8192;
const spareAtMost = 64;
const spare: Buffer[] = [];

/** A buffer of at least this size, which may be needed until the upstream has answered. */
export function takeBuffer(bytes: number): Buffer {
  if (bytes > bufferBytes) return Buffer.allocUnsafeSlow(bytes);
  return spare.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);
}

/** Gives back a buffer that no write holds. */
export function giveBuffer(buffer: Buffer): void {
  if (buffer.length === bufferBytes && spare.length < spareAtMost) spare.push(buffer);
}
