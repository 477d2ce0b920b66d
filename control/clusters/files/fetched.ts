import { createHash } from "node:crypto";
import { fail } from "../../../common/errors.ts";
import { paced } from "../../../common/loop.ts";
import { type Content, Entry, fileOperations } from "../../../contract/files-api.ts";
import type { StoredObject } from "../../buckets/bucket.ts";
import {
  findHubCommit,
  type HubFile,
  hubFileUrl,
  isHub,
  listHubFiles,
  readHubAddress,
  writeHubAddress,
} from "../../buckets/hub.ts";
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
  const read = isHub(parcel.uri) ? readHub : readBucket;
  const load = await read(ctx, parcel, signal);
  return async () => load;
}

/** A parcel that has the same files from now on: a revision of the hub becomes the commit that it means. */
export async function pinAddress(
  { config }: World,
  parcel: FetchedParcel,
  signal: AbortSignal,
): Promise<FetchedParcel> {
  if (!isHub(parcel.uri)) return parcel;
  const address = readHubAddress(parcel.name, parcel.uri);
  const hub = { endpoint: config.hfEndpoint, token: parcel.token };
  const revision = await findHubCommit(hub, address, signal);
  return { ...parcel, uri: writeHubAddress({ ...address, revision }) };
}

/** The file of an address of the hub, or else all files below it as a folder. */
async function readHub(
  { config }: World,
  { name, uri, token }: FetchedParcel,
  signal: AbortSignal,
): Promise<Load> {
  const address = readHubAddress(name, uri);
  const hub = { endpoint: config.hfEndpoint, token };
  const isBelow = ({ path }: HubFile) =>
    address.path === "" || path === address.path || path.startsWith(`${address.path}/`);
  const found = await listAll(uri, keepOnly(listHubFiles(hub, address, signal), isBelow));
  const isOne = found.some(({ path }) => path === address.path);
  const below = isOne || address.path === "" ? address.path : `${address.path}/`;
  const files = new Map(
    found.map((file) => [file.lfs?.oid ?? digestOf(file.oid, file.size), file]),
  );
  const entries = found.map((file) =>
    entryOf(uri, below, file.lfs?.oid ?? digestOf(file.oid, file.size), {
      key: file.path,
      size: file.lfs?.size ?? file.size,
    }),
  );
  const headers: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` };
  return {
    entries: isOne ? entries : [{ kind: "folder", path: "" }, ...entries],
    contents: {
      by: "node",
      sourceOf(content) {
        const { path, lfs } = files.get(content.sha256) ?? unknown(content);
        return {
          ...content,
          ...{ name: `${uri}: ${path}`, url: hubFileUrl(hub, address, path), headers },
          // A commit never changes, and the digest is checked.
          ...{ version: null, hasRanges: true },
          digest: lfs === undefined ? null : { algorithm: "sha256", hex: lfs.oid },
        };
      },
    },
  };
}

async function* keepOnly<T>(items: AsyncIterable<T>, isWanted: (item: T) => boolean) {
  for await (const item of items) if (isWanted(item)) yield item;
}

/** The object of an address, or else all objects below it as a folder. */
async function readBucket(
  ctx: World,
  { uri, keys }: FetchedParcel,
  signal: AbortSignal,
): Promise<Load> {
  const { name, bucket, key } = openBucket(ctx, uri, keys);
  const root = key.replace(/(?<!\/)\/+$/, "");
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

async function listAll<T>(uri: string, list: AsyncIterable<T>): Promise<T[]> {
  const objects: T[] = [];
  for await (const object of list) {
    objects.push(object);
    if (objects.length > mostObjects)
      fail("TooLargeError", `${uri} has more than ${mostObjects} objects; name a part of it`);
  }
  if (objects.length === 0) fail("NotFoundError", `${uri} has no objects`);
  return objects;
}

/** An object as a file; one that ends with a slash stands for a folder. */
function entryOf(
  uri: string,
  prefix: string,
  sha256: string,
  { key, size }: Pick<StoredObject, "key" | "size">,
): Entry {
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
