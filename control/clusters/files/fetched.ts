import { createHash } from "node:crypto";
import { fail } from "../../../common/errors.ts";
import { paced } from "../../../common/loop.ts";
import { type Content, Entry, fileOperations } from "../../../contract/files-api.ts";
import type { StoredObject } from "../../buckets/bucket.ts";
import { openBucket } from "../../buckets/stores.ts";
import type { Agent } from "../../doors/agent.ts";
import type { Ground } from "../../ground.ts";
import { splitLogin } from "./login.ts";
import type { FetchedParcel, FileCargo, Load } from "./parcels.ts";

type World = Pick<Ground, "config" | "now">;

const mostObjects = 200_000;
const mode = 0o644;

/** What is at an address: a bucket is listed now, and any other server is asked by each node. */
export async function openAddress(
  ctx: World,
  parcel: FetchedParcel,
  signal: AbortSignal,
): Promise<FileCargo["open"]> {
  if (/^https:/i.test(parcel.uri)) return (agent, until) => readFile(ctx, parcel, agent, until);
  const load = await readBucket(ctx, parcel, signal);
  return async () => load;
}

/** The object of an address, or else all objects below it as a folder. */
async function readBucket(
  ctx: World,
  { uri, keys }: FetchedParcel,
  signal: AbortSignal,
): Promise<Load> {
  const { name, bucket, key } = openBucket(ctx, uri, keys);
  const root = key.replace(/\/+$/, "");
  const one = root !== "" && root === key ? await bucket.find(root, signal) : undefined;
  const prefix = one !== undefined ? root : root && `${root}/`;
  const objects = one ? [one] : await listAll(uri, bucket.list(prefix, signal));
  const byId = new Map<string, StoredObject>();
  const entries: Entry[] = one ? [] : [{ kind: "folder", path: "" }];
  for await (const object of paced(objects)) {
    const id = idOf(name, object);
    byId.set(id, object);
    entries.push(entryOf(uri, prefix, id, object));
  }
  return {
    entries,
    contents: {
      by: "node",
      sourceOf(content) {
        const { key, etag } = byId.get(content.sha256) ?? unknown(content);
        const md5 = md5In(etag);
        return {
          ...content,
          ...{ name: `${name}/${key}`, url: bucket.addressOf(key), headers: {} },
          ...{ version: etag, hasRanges: true },
          digest: md5 === undefined ? null : { algorithm: "md5", hex: md5 },
        };
      },
    },
  };
}

async function listAll(uri: string, list: AsyncIterable<StoredObject>): Promise<StoredObject[]> {
  const objects: StoredObject[] = [];
  for await (const object of list) {
    objects.push(object);
    if (objects.length > mostObjects)
      fail("TooLargeError", `${uri} has more than ${mostObjects} objects; name a part of it`);
  }
  if (objects.length === 0) fail("NotFoundError", `${uri} has no objects`);
  return objects;
}

/** An object as a file; one that ends with a slash stands for a folder. */
function entryOf(uri: string, prefix: string, sha256: string, { key, size }: StoredObject): Entry {
  const path = key.slice(prefix.length);
  const entry = path.endsWith("/")
    ? { kind: "folder", path: path.slice(0, -1) }
    : { kind: "file", path, size, mode, sha256 };
  const { success, data } = Entry.safeParse(entry);
  return success ? data : fail("ValueError", `${uri}: ${key} cannot be a path on a node`);
}

/** Equal ids, equal contents: an MD5 is the same in every bucket, other ETags are a bucket's own. */
const idOf = (name: string, { etag, size }: StoredObject): string =>
  digestOf(md5In(etag) ?? `${name} ${etag}`, size);

/** The ETag of an object that came in one piece. */
const md5In = (etag: string): string | undefined => /^"?([\da-f]{32})"?$/.exec(etag)?.[1];

/** A single file; its node says what is there. A key in the address is in no message. */
async function readFile(
  { now }: World,
  { name, uri }: FetchedParcel,
  agent: Agent,
  signal: AbortSignal,
): Promise<Load> {
  const { url, username, password } = splitLogin(name, uri);
  const known = digestIn(name, url);
  url.hash = "";
  const basic = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  const source = {
    name: `${name} from ${url.origin}`,
    url: url.href,
    headers: username === "" ? {} : { authorization: basic },
  };
  const options = { signal, timeoutMs: probeMs };
  const probed = await agent.call(fileOperations.probeSource, source, options);
  const { size, version } = probed;
  const sha256 = known ?? digestOf(`${url.href} ${version ?? now().toISOString()}`, size);
  const digest = known === undefined ? null : { algorithm: "sha256" as const, hex: known };
  return {
    entries: [{ kind: "file", path: "", size, mode, sha256 }],
    contents: { by: "node", sourceOf: (content) => ({ ...content, ...source, ...probed, digest }) },
  };
}

/** The SHA-256 that an address says its file has. Throws `ValueError` for one that is none. */
export function digestIn(name: string, { hash }: URL): string | undefined {
  if (!/^#sha256=/i.test(hash)) return undefined;
  const digest = /^#sha256=([\da-f]{64})$/i.exec(hash)?.[1]?.toLowerCase();
  return (
    digest ?? fail("ValueError", `${name}: #sha256= needs the 64 hexadecimal digits of a SHA-256`)
  );
}

const probeMs = 90_000;

const digestOf = (text: string, size: number): string =>
  createHash("sha256").update(`${text} ${size}`).digest("hex");

const unknown = ({ sha256 }: Content): never =>
  fail("RuntimeError", `a node asks for the content ${sha256}, which nobody offered`);
