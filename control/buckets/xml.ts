import type { StoredObject } from "./bucket.ts";

/** The text of the first element of a name; S3 answers in XML without attributes or nesting of the same name. */
export function textIn(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text?.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal, hex, word) => {
    if (word !== undefined) return entities[word] ?? whole;
    return String.fromCodePoint(decimal ? Number(decimal) : Number.parseInt(hex, 16));
  });
}

const entities: Readonly<Record<string, string>> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" },
};

/** The objects on a page of a list. */
export function listIn(xml: string): StoredObject[] {
  const isEncoded = textIn(xml, "EncodingType") === "url";
  return [...xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, object = ""]) => {
    const key = textIn(object, "Key") ?? "";
    return {
      key: isEncoded ? decodeURIComponent(key.replaceAll("+", " ")) : key,
      size: Number(textIn(object, "Size")),
      etag: textIn(object, "ETag") ?? "",
    };
  });
}
