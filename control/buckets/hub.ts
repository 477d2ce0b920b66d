import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { fail } from "../../common/errors.ts";
import { waitMs } from "../../common/loop.ts";
import { ask, isBusy, refuse, tries, usualWaitMs } from "./ask.ts";
import { encode } from "./sigv4.ts";

/** A model or data set of Hugging Face. Source: huggingface.co, "Hub API Endpoints". */
export interface HubAddress {
  readonly kind: "models" | "datasets";
  /** `owner/name`. */
  readonly repo: string;
  /** A branch, a tag or a commit. */
  readonly revision: string;
  /** Below this; empty is everything. */
  readonly path: string;
}

/** Whether an address is one of the hub. */
export const isHub = (uri: string): boolean => /^hf:\/\//i.test(uri);

/** The address of the hub, and the caller's token. */
export interface Hub {
  readonly endpoint: string;
  readonly token: string | undefined;
}

/** A file of a repository; the digest is known of large ones. */
export const HubFile = z.object({
  type: z.string(),
  path: z.string(),
  size: z.int().min(0),
  oid: z.string(),
  lfs: z.object({ oid: z.string().regex(/^[0-9a-f]{64}$/), size: z.int().min(0) }).optional(),
});
export type HubFile = z.output<typeof HubFile>;

const shape =
  /^hf:\/\/(?:(models|datasets)\/)?([\w.-]+\/[\w.-]+)(?:@([^/\s]+))?(?=\/|$)([^\t-\r]*)$/i;
const addressAtMost = 1_024;

/** Reads `hf://[datasets/]owner/name[@revision][/path]`. Throws `ValueError`. */
export function readHubAddress(name: string, uri: string): HubAddress {
  const found = uri.length > addressAtMost ? null : shape.exec(uri);
  const [, kind = "models", repo, revision = "main", below = ""] = found ?? [];
  if (repo === undefined)
    fail("ValueError", `${name}: write hf://OWNER/NAME@REVISION/PATH or hf://datasets/OWNER/NAME`);
  const path = below.split("/").filter(Boolean).join("/");
  return { kind: kind === "datasets" ? kind : "models", repo, revision, path };
}

/** The address again. */
export const writeHubAddress = ({ kind, repo, revision, path }: HubAddress): string =>
  `hf://${kind}/${repo}@${revision}${path && `/${path}`}`;

/** The commit that a revision now means. Throws as `listHubFiles`. */
export async function findHubCommit(
  hub: Hub,
  address: HubAddress,
  signal: AbortSignal,
): Promise<string> {
  const { body } = await read(hub, address, `revision/${encode(address.revision)}`, signal);
  return z.object({ sha: z.string().regex(/^[0-9a-f]{40}$/) }).parse(body).sha;
}

/**
 * The files of an address, page by page. Throws `PermissionDeniedError`, `NotFoundError`, `RateLimitError` or
 * `StorageError`.
 */
export async function* listHubFiles(
  hub: Hub,
  address: HubAddress,
  signal: AbortSignal,
): AsyncGenerator<HubFile> {
  let route: string | undefined = `tree/${encode(address.revision)}?recursive=1`;
  while (route !== undefined) {
    const { body, next } = await read(hub, address, route, signal);
    for (const file of z.array(HubFile).parse(body)) if (file.type === "file") yield file;
    route = next;
  }
}

/** Where a file of a commit is read. */
export function hubFileUrl({ endpoint }: Hub, { kind, repo, revision }: HubAddress, path: string) {
  const root = kind === "datasets" ? `${endpoint}/datasets` : endpoint;
  return `${root}/${repo}/resolve/${encode(revision)}/${path.split("/").map(encode).join("/")}`;
}

const words = {
  denied: "refuses access, or is not there; pass the secret HF_TOKEN",
  missing: "has no such repository or revision",
};

/** What the hub answers, and the route of the page that follows. Source: RFC 8288. */
async function read(
  { endpoint, token }: Hub,
  { kind, repo }: HubAddress,
  route: string,
  signal: AbortSignal,
): Promise<{ body: unknown; next: string | undefined }> {
  const name = `hf://${repo}`;
  const url = `${endpoint}/api/${kind}/${repo}/`;
  const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  for (let attempt = 1; ; attempt += 1) {
    const answer = await ask(name, url + route, signal, { headers });
    const next = /<([^>]+)>;\s*rel="next"/.exec(answer.header("link") ?? "")?.[1];
    // A page elsewhere would get the token.
    const isHere = next?.startsWith(url);
    if (answer.status === 200)
      return { body: JSON.parse(answer.text), next: isHere ? next?.slice(url.length) : undefined };
    if (attempt === tries || !isBusy(answer)) refuse(name, answer, words);
    await sleep(waitMs(usualWaitMs, attempt), undefined, { signal });
  }
}
