import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A metadata endpoint on loopback that a test plays. */
export interface Endpoint {
  readonly url: string;
  /** What was asked, in order: `GET /path?query`. */
  readonly asked: readonly string[];
}

interface Cleaner {
  after(clean: () => void): void;
}

/** Serves what `answer` says until the test is over. */
export async function startEndpoint(
  t: Cleaner,
  answer: (req: IncomingMessage, res: ServerResponse, url: URL) => void,
): Promise<Endpoint> {
  const asked: string[] = [];
  const server = createServer((req, res) => {
    asked.push(`${req.method} ${req.url}`);
    answer(req, res, new URL(req.url ?? "/", "http://metadata"));
  });
  t.after(() => server.close().closeAllConnections());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** Answers with a status and a text. */
export function reply(res: ServerResponse, status: number, text = ""): void {
  res.writeHead(status, { "content-type": "text/plain" }).end(text);
}

/** The instance metadata service of AWS: version 2 alone, so nothing without a token. */
export async function startAws(t: Cleaner) {
  const world = { action: undefined as string | undefined, tokens: 0 };
  const endpoint = await startEndpoint(t, (req, res, { pathname }) => {
    if (req.method === "PUT" && pathname === "/latest/api/token") {
      const seconds = Number(req.headers["x-aws-ec2-metadata-token-ttl-seconds"]);
      if (!(seconds >= 1 && seconds <= 21_600)) return reply(res, 400);
      world.tokens += 1;
      return reply(res, 200, `token-${world.tokens}`);
    }
    if (req.headers["x-aws-ec2-metadata-token"] !== `token-${world.tokens}`) return reply(res, 401);
    const isThere = pathname === "/latest/meta-data/spot/instance-action" && world.action;
    return isThere ? reply(res, 200, world.action) : reply(res, 404, "Not Found");
  });
  return { ...endpoint, world };
}

/** The metadata server of GCP: it holds a request until the value is another than its etag says. */
export async function startGcp(t: Cleaner) {
  let value = "FALSE";
  const waiting = new Set<() => void>();
  const endpoint = await startEndpoint(t, (req, res, { pathname, searchParams }) => {
    if (req.headers["metadata-flavor"] !== "Google") return reply(res, 403);
    if (pathname !== "/computeMetadata/v1/instance/preempted") return reply(res, 404);
    const etag = () => `etag-${value}`;
    const send = () => {
      waiting.delete(send);
      res.setHeader("metadata-flavor", "Google").setHeader("etag", etag());
      reply(res, 200, value);
    };
    const waits = searchParams.get("wait_for_change") === "true";
    if (!waits || searchParams.get("last_etag") !== etag()) return send();
    waiting.add(send);
  });
  return {
    ...endpoint,
    set(next: string) {
      value = next;
      for (const send of waiting) send();
    },
    get waiting() {
      return waiting.size;
    },
  };
}

/** The scheduled events of Azure, of a VM with this name. */
export async function startAzure(t: Cleaner, name: string) {
  const world = { events: [] as object[] };
  const endpoint = await startEndpoint(t, (req, res, { pathname, searchParams }) => {
    if (req.headers["metadata"] !== "true" || !searchParams.has("api-version"))
      return reply(res, 400);
    if (pathname === "/metadata/instance/compute/name" && searchParams.get("format") === "text")
      return reply(res, 200, name);
    if (pathname !== "/metadata/scheduledevents") return reply(res, 404);
    const json = { DocumentIncarnation: world.events.length, Events: world.events };
    return reply(res, 200, JSON.stringify(json));
  });
  return { ...endpoint, world };
}

/** A scheduled event as Azure shows it. */
export const anAzureEvent = (more: object = {}) => ({
  EventId: "602d9444-d2cd-49c7-8624-8643e7171297",
  EventStatus: "Scheduled",
  EventType: "Preempt",
  ResourceType: "VirtualMachine",
  Resources: ["spot-7"],
  NotBefore: "Mon, 19 Sep 2022 18:29:47 GMT",
  Description: "",
  EventSource: "Platform",
  DurationInSeconds: -1,
  ...more,
});
