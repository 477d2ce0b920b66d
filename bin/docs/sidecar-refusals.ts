import { loginCookies } from "../../common/product.ts";
import { httpProxyLimits } from "../../sidecar/forward/engines.ts";
import { forwardingNames } from "../../sidecar/forwarding-names.ts";
import { refusals } from "../../sidecar/refusals.ts";
import { code, codes, table } from "./markdown.ts";
import type { Parts } from "./parts.ts";

/** What the sidecar refuses, removes and changes. */
export const sidecarRefusalParts: Parts = {
  refusals: () =>
    table(
      ["Outcome", "Status", "Reason"],
      Object.entries(refusals).map(([name, { status, means }]) => [
        code(name),
        String(status),
        means,
      ]),
    ),
  cookies: () => codes(Object.values(loginCookies)),
  "forwarding names": () => codes(forwardingNames),
  "http-proxy": () => table(["What", "With `http-proxy`"], Object.entries(httpProxyLimits)),
};
