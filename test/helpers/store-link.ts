import { once } from "node:events";
import { createServer, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Stands between a store and those who read from it. */
export interface StoreLink {
  readonly url: string;
  /** Requests for objects, and bytes of them that were passed on. */
  gets: number;
  sent: number;
  /** Requests for parts of an object from here on wait. */
  heldFrom: number;
  /** What answers requests for objects in place of the store. */
  fault: ((res: ServerResponse) => void) | undefined;
  /** Refuses every request that would change something. */
  refusesWrites: boolean;
  /** Lets those go on that wait, and holds none any more. */
  release(): void;
  /** As `release`, but cuts their connections. */
  cut(): void;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/** Opens a link to a store that ends with the test. */
export async function openLink(t: Cleaner, endpoint: string): Promise<StoreLink> {
  const held = new Map<ServerResponse, () => void>();
  const server = createServer((req, res) => {
    const pass = () => {
      const { method, headers } = req;
      const inner = request(`${endpoint}${req.url}`, { method, headers }, (answer) => {
        res.writeHead(answer.statusCode ?? 0, answer.headers);
        if (isObject)
          answer.on("data", (chunk: Buffer) => {
            link.sent += chunk.length;
          });
        answer.pipe(res);
        res.on("close", () => answer.destroy());
      });
      inner.on("error", () => res.destroy());
      req.pipe(inner);
    };
    const offset = /^bytes=(\d+)-/.exec(req.headers.range ?? "")?.[1];
    const isObject = offset !== undefined;
    if (isObject) link.gets += 1;
    if (link.refusesWrites && req.method !== "GET" && req.method !== "HEAD")
      return void res.writeHead(403).end("<Code>AccessDenied</Code>");
    if (isObject && link.fault !== undefined) link.fault(res);
    else if (Number(offset) < link.heldFrom || !isObject) pass();
    else {
      held.set(res, pass);
      res.on("close", () => held.delete(res));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    server.closeAllConnections();
    server.close();
  });
  const letGo = (work: (res: ServerResponse, pass: () => void) => void) => {
    link.heldFrom = Number.POSITIVE_INFINITY;
    for (const [res, pass] of held) work(res, pass);
    held.clear();
  };
  const link: StoreLink = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{
      gets: 0,
      sent: 0,
      heldFrom: Number.POSITIVE_INFINITY,
      fault: undefined,
      refusesWrites: false,
    },
    release: () => letGo((_res, pass) => pass()),
    cut: () => letGo((res) => void res.destroy()),
  };
  return link;
}
