/** Where buckets are. */
export const stores = [
  "S3",
  "GCS",
  "AZURE",
  "R2",
  "IBM",
  "OCI",
  "NEBIUS",
  "COREWEAVE",
  "VASTDATA",
  "VOLUME",
] as const;

/** Schemes of buckets, and how many parts of the address name the bucket itself. */
const bucketSchemes: Readonly<Record<string, number>> = {
  s3: 1,
  gs: 1,
  https: 2,
  r2: 1,
  cos: 2,
  oci: 1,
  nebius: 1,
  cw: 1,
  vastdata: 1,
  hf: 2,
};

/** Every scheme that a bucket may have. */
export const knownSchemes: readonly string[] = Object.keys(bucketSchemes);

/** The scheme of an address, in lower case; undefined for a path or a bare name. */
export function schemeOf(text: string): string | undefined {
  return /^([A-Za-z][\w+.-]*):\/\//.exec(text)?.[1]?.toLowerCase();
}

/** Whether the text is the address of a bucket. */
export const isUri = (text: string): boolean => knownSchemes.includes(schemeOf(text) ?? "");

/** Whether the address leads to something inside a bucket. */
export function hasObject(uri: string): boolean {
  const parts = uri
    .replace(/^[^:]*:\/\//, "")
    .split("/")
    .filter((part) => part !== "");
  return parts.length > (bucketSchemes[schemeOf(uri) ?? ""] ?? 1);
}

/** The last part of a path. */
export function baseNameOf(path: string): string {
  return (
    path
      .replace(/(?<!\/)\/+$/, "")
      .split("/")
      .at(-1) ?? ""
  );
}
