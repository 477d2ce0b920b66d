const mark = '"at":"';
const stampBytes = 16;
const event = `data: {"id":"chatcmpl-0","object":"chat.completion.chunk",${mark}${"0".repeat(stampBytes)}","model":"bench","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}\n\n`;
const template = Buffer.from(`${event.length.toString(16)}\r\n${event}\r\n`);
const stampAt = template.indexOf(mark) + mark.length;

/** Now, in µs of a clock that all processes share. */
export function nowUs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e6 + Math.round(nanoseconds / 1e3);
}

/** A chunk with one event of a stream, as a model server sends it for a token. */
export const newToken = (): Buffer => Buffer.from(template);

/** Writes into a token that it is sent now. */
export function stamp(token: Buffer): Buffer {
  token.write(String(nowUs()).padStart(stampBytes, "0"), stampAt, "latin1");
  return token;
}

/** Calls with the age in µs of each token whose stamp lies in these bytes. */
export function agesOf(bytes: Buffer, to: number, told: (us: number) => void): void {
  const now = nowUs();
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + 1)) {
    const from = at + mark.length;
    if (from + stampBytes > to) return;
    told(now - Number(bytes.toString("latin1", from, from + stampBytes)));
  }
}
