import { createHash, createHmac } from "node:crypto";

/** What proves to a store who asks. */
export interface Keys {
  readonly id: string;
  readonly secret: string;
  /** Goes with keys that are short-lived. */
  readonly session?: string | undefined;
}

interface Signed {
  readonly method: string;
  readonly url: URL;
  readonly region: string;
  readonly seconds: number;
  readonly at: Date;
}

/** An address with a signature in its query: whoever has it may do this one thing for so long. Source: AWS Signature Version 4. */
export function presign({ method, url, region, seconds, at }: Signed, keys: Keys): string {
  const instant = at.toISOString().replace(/[-:]|\.\d+/g, "");
  const day = instant.slice(0, 8);
  const scope = `${day}/${region}/s3/aws4_request`;
  const query = new Map([
    ...url.searchParams,
    ["X-Amz-Algorithm", "AWS4-HMAC-SHA256"],
    ["X-Amz-Credential", `${keys.id}/${scope}`],
    ["X-Amz-Date", instant],
    ["X-Amz-Expires", String(seconds)],
    ["X-Amz-SignedHeaders", "host"],
    ...(keys.session ? [["X-Amz-Security-Token", keys.session] as const] : []),
  ]);
  const pairs = [...query].map(([name, value]) => `${encode(name)}=${encode(value)}`).toSorted();
  const canonical = [method, url.pathname, pairs.join("&"), `host:${url.host}`, "", "host"];
  const request = sha256([...canonical, "UNSIGNED-PAYLOAD"].join("\n"));
  const key = [day, region, "s3", "aws4_request"].reduce<string | Buffer>(
    (by, text) => hmac(by, text),
    `AWS4${keys.secret}`,
  );
  const signature = hmac(key, ["AWS4-HMAC-SHA256", instant, scope, request].join("\n"));
  return `${url.origin}${url.pathname}?${pairs.join("&")}&X-Amz-Signature=${signature.toString("hex")}`;
}

/** As `encodeURIComponent`, but only letters, digits, `-`, `.`, `_` and `~` stay. */
export const encode = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac("sha256", key).update(text).digest();
