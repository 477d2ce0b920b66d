import { fail } from "../../common/errors.ts";
import { readNamed } from "../../common/files.ts";
import { schemeOf } from "../../contract/task/storage-uri.ts";
import type { Config } from "../config.ts";
import type { Bucket } from "./bucket.ts";
import { openS3 } from "./s3.ts";
import type { S3Address } from "./s3-asking.ts";
import type { Keys } from "./sigv4.ts";

/** A kind of store that speaks S3. */
interface Store {
  /** Variables of a task with its keys: id, secret, and what goes with those that are short-lived. */
  readonly variables: readonly [id: string, secret: string, session?: string];
  readonly endpoint: (config: Config) => string;
  readonly region: (config: Config) => string;
  readonly keysFile: (config: Config) => string | undefined;
  /** Those that the keys of control are for, where that is limited. */
  readonly buckets: (config: Config) => string | undefined;
}

/** Stores by the scheme of their addresses. To add one: add its row. */
const stores: Readonly<Record<string, Store>> = {
  s3: {
    variables: ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
    endpoint: ({ s3Endpoint }) => s3Endpoint,
    region: ({ s3Region }) => s3Region,
    keysFile: ({ s3KeysFile }) => s3KeysFile,
    buckets: ({ s3Buckets }) => s3Buckets,
  },
  gs: {
    variables: ["GCS_ACCESS_KEY_ID", "GCS_SECRET_ACCESS_KEY"],
    endpoint: ({ gcsEndpoint }) => gcsEndpoint,
    region: () => "auto",
    keysFile: ({ gcsKeysFile }) => gcsKeysFile,
    buckets: ({ gcsBuckets }) => gcsBuckets,
  },
};

/** Whether buckets of an address can be read. */
export const isReadable = (uri: string): boolean => Object.hasOwn(stores, schemeOf(uri) ?? "");

/** The keys that a task brings for an address among its variables; undefined when it brings none. */
export function keysAmong(
  uri: string,
  variables: Readonly<Record<string, string>>,
): Keys | undefined {
  const { variables: names } = storeOf(uri);
  const [id, secret, session] = names.map((name) => variables[name ?? ""]);
  if (id === undefined && secret === undefined) return undefined;
  if (!id || !secret)
    fail("ValueError", `${uri}: ${names[0]} and ${names[1]} go together; pass both as secrets`);
  return { id, secret, session };
}

/** The bucket of an address, with the keys of a task, or else those of control or none, and the key that the address names. */
export function openBucket(
  { config, now }: { readonly config: Config; now(): Date },
  uri: string,
  keys: Keys | "none" | undefined,
): { name: string; bucket: Bucket; key: string; address: S3Address } {
  const store = storeOf(uri);
  const [, scheme = "", bucket = "", key = ""] = /^(\w+):\/\/([^/]+)\/*(.*)$/s.exec(uri) ?? [];
  const address = {
    name: `${scheme.toLowerCase()}://${bucket}`,
    endpoint: store.endpoint(config),
    region: store.region(config),
    bucket,
    keys: keys === "none" ? undefined : (keys ?? keysOfControl(config, store, bucket)),
  };
  return { name: address.name, bucket: openS3(address, now), key, address };
}

const storeOf = (uri: string): Store =>
  stores[schemeOf(uri) ?? ""] ??
  fail("NotSupportedError", `${schemeOf(uri)}:// cannot be read yet`);

/** The keys of control for a bucket; undefined where it has none, or none that are for this one. */
function keysOfControl(config: Config, store: Store, bucket: string): Keys | undefined {
  const names = store.buckets(config)?.split(",");
  const isMeant = names === undefined || names.some((name) => name.trim() === bucket);
  return isMeant ? readKeys(store.keysFile(config)) : undefined;
}

const largestBytes = 64 * 1024;

/** The keys of the first profile of a file as AWS's tools have it. */
function readKeys(file: string | undefined): Keys | undefined {
  if (file === undefined) return undefined;
  const text = readNamed(file, { mostBytes: largestBytes }).toString();
  const find = (name: string) => new RegExp(`^\\s*${name}\\s*=\\s*(\\S+)`, "m").exec(text)?.[1];
  const [id, secret] = [find("aws_access_key_id"), find("aws_secret_access_key")];
  if (id === undefined || secret === undefined)
    fail("ConfigError", `${file} must have aws_access_key_id and aws_secret_access_key`);
  return { id, secret, session: find("aws_session_token") };
}
