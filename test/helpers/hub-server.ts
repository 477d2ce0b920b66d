import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { sha256Of } from "./files.ts";
import { type SourceServer, startSource } from "./source-server.ts";

/** A server with the documented routes of Hugging Face's hub, which keeps large files elsewhere. */
export interface HubServer {
  readonly url: string;
  /** Where large files lie; it is asked without a token. */
  readonly large: SourceServer;
  readonly token: string;
  /** Files by path, for each revision of whichever model is asked for; every commit stays. */
  commit(files: Readonly<Record<string, string>>): string;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

const perPage = 2;
const lfsFrom = 10;

/** Starts a hub that ends with the test and has one repository, of any name. */
export async function startHub(t: Cleaner, isPrivate = true): Promise<HubServer> {
  const large = await startSource(t);
  const token = ["hf", "secret", "token"].join("_");
  const commits = new Map<string, Readonly<Record<string, string>>>();
  let head = "";
  const http = createServer((req, res) => {
    const url = new URL(req.url ?? "", hub.url);
    const json = (body: unknown, headers = {}) =>
      void res.writeHead(200, headers).end(JSON.stringify(body));
    if (isPrivate && req.headers.authorization !== `Bearer ${token}`)
      return void res.writeHead(401).end();
    const [, route = "", revision = "", path = ""] =
      /^\/(?:api\/models\/)?[^/]+\/[^/]+\/(revision|tree|resolve)\/([^/]+)\/?(.*)$/.exec(
        url.pathname,
      ) ?? [];
    const sha = revision === "main" ? head : revision;
    const files = commits.get(sha);
    if (files === undefined) return void res.writeHead(404).end();
    if (route === "revision") return json({ sha });
    if (route === "tree") {
      const from = Number(url.searchParams.get("cursor") ?? 0);
      const all = Object.entries(files).map(([name, text]) => entryOf(name, text));
      const next = `${hub.url}${url.pathname}?recursive=1&cursor=${from + perPage}`;
      const link = from + perPage < all.length ? { link: `<${next}>; rel="next"` } : {};
      return json(all.slice(from, from + perPage), link);
    }
    const text = files[path];
    if (text === undefined) return void res.writeHead(404).end();
    const place = `/${sha256Of(text)}`;
    if (text.length < lfsFrom)
      return void res
        .writeHead(200, { etag: `"${path}"`, "content-length": text.length })
        .end(text);
    large.files.set(place, { bytes: Buffer.from(text), etag: `"of ${place}"` });
    res.writeHead(302, { location: `${large.url}${place}` }).end();
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(async () => {
    http.closeAllConnections();
    http.close();
  });
  const hub: HubServer = {
    ...{ url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, large, token },
    commit(files) {
      head = sha256Of(JSON.stringify(files)).slice(0, 40);
      commits.set(head, files);
      return head;
    },
  };
  return hub;
}

function entryOf(path: string, text: string) {
  const entry = { type: "file", path, size: text.length, oid: sha256Of(text).slice(0, 40) };
  return text.length < lfsFrom
    ? entry
    : { ...entry, lfs: { oid: sha256Of(text), size: text.length } };
}
