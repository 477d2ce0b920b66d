import type { Engine } from "./front.ts";
import { openSplice } from "./splice.ts";

/** Opens each engine. What `http-proxy` needs is loaded only for it. */
export const engines = {
  splice: async (): Promise<Engine> => openSplice(),
  "http-proxy": async (): Promise<Engine> => {
    const { openHttpProxy } = await import("./http-proxy.ts");
    return openHttpProxy();
  },
} as const;

/** What `http-proxy` does otherwise than `splice`, and cannot be made to do. */
export const httpProxyLimits = {
  methods: "methods that Node.js does not know are answered 501",
  targets: "targets with bytes above 0x7e are answered 501",
  versions: "HTTP/1.0 requests are forwarded as HTTP/1.1",
  expect: "100 Continue is sent once the key is valid, and Expect is not forwarded",
  repeats: "lines of a repeated header are grouped, spelled like the first",
  names: "headers named by a number come first, one named __proto__ is lost",
  length: "a request that could have a body and has none arrives with Content-Length: 0",
  chunks: "chunks are encoded again; their extensions and the Trailer header are lost",
  answers: "one with a head above 16 KB, or with bytes after its end, is answered 502",
  early: "an answer before the body is over is lost when the upstream then resets the connection",
  untilClose: "an answer that ends with its connection arrives in chunks",
  connections: "a connection to the upstream serves one request",
  webSockets: "WebSockets are carried by splice",
  speed: "a request costs several times as much",
} as const;
