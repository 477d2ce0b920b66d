import { loginCookies } from "../../common/product.ts";
import { httpProxyLimits } from "../../sidecar/forward/engines.ts";
import { forwardingNames } from "../../sidecar/forwarding-names.ts";
import { refusals } from "../../sidecar/refusals.ts";
import { code, page, table } from "./markdown.ts";

/** What the sidecar refuses, removes and changes. */
export const sidecarRefusalsPage = (): string =>
  page(
    "What the sidecar refuses and changes",
    "bin/docs/sidecar-refusals.ts, common/product.ts, sidecar/refusals.ts, sidecar/forwarding-names.ts and sidecar/forward/engines.ts",
    "The reference behind [the sidecar](sidecar.md): every request it answers itself, every header it removes, and " +
      "what the second engine cannot do.",
    "## Refused requests",
    refused,
    table(
      ["Outcome", "Status", "Reason"],
      Object.entries(refusals).map(([name, { status, means }]) => [
        code(name),
        String(status),
        means,
      ]),
    ),
    afterRefusal,
    "## Headers",
    headers,
    "## Answers and connections",
    connections,
    "## The `http-proxy` engine",
    "By default the sidecar copies bytes from socket to socket (`--engine splice`). `--engine http-proxy` forwards " +
      "with the library of that name instead, behind the same key check. It differs in the following ways:",
    table(["What", "With `http-proxy`"], Object.entries(httpProxyLimits)),
  );

const refused = `A request that two HTTP parsers could read differently is refused: the sidecar and the server must agree where a
request ends. The answer has a JSON body such as \`{"error":"Unauthorized"}\`. The outcome appears in the access log and
in the metrics. A 401 also has \`WWW-Authenticate: Bearer\`. With \`--error-style openai\` the body is the error object of the
OpenAI API: \`{"error":{"message":"no key, or an unknown one","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}\`.`;

const afterRefusal = `Three further outcomes say how a forwarded request ended: \`answered\`, \`gone\` (the client disconnected) and \`cut\`
(the answer broke off after its head).

After a refusal the connection stays open if the request's body has a length of at most 64 KB. Otherwise it is closed
once the client has had time to read the answer.`;

const headers = `| Headers | What happens |
| --- | --- |
| \`Connection\` and the headers it names, \`Keep-Alive\`, \`TE\`, \`Proxy-*\`, \`Upgrade\` | removed in both directions: they are for one hop |
| \`Authorization\` | passed on; \`--strip-authorization\` removes it |
| \`X-Forwarded-For\`, \`X-Forwarded-Proto\`, \`X-Forwarded-Host\` | set by the sidecar |
| the cookies ${Object.values(loginCookies)
  .map((name) => code(name))
  .join(
    ", ",
  )} | passed on with another value: browsers send these logins to control to every port of its host |
| the client's own \`X-Forwarded-*\`, ${forwardingNames.map((name) => code(name)).join(", ")} | removed; \`--trust-forwarded\` passes them on from a proxy in front of the sidecar |
| names that a server may read as one of the above | always removed: WSGI and CGI read \`X_Forwarded_For\` as \`X-Forwarded-For\`, and \`Content_Length\` as \`Content-Length\`. Other names with underscores pass |
| everything else | passed on, with names, values, order and letter case unchanged |

A target that is a whole URL is forwarded as its path, with its host as \`Host\`.`;

const connections = `- Answers are forwarded as they arrive: single events, heads before their bodies, status 100 and 103, trailers.
- An answer that breaks off at the server breaks off at the client. When a client disconnects, its request is ended at
  the server.
- WebSockets open with a key. Other protocol upgrades are not offered.
- A request is sent a second time only if repeating it is safe and the connection it was sent on had just closed.
- If the server cannot be reached or closes the connection before it answers, the client gets 502. With
  \`--break-off\` the connection is closed without an answer instead, so that a balancer in front can try elsewhere.`;
