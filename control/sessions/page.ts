import { randomBytes } from "node:crypto";
import { product } from "../../common/product.ts";
import type { Call, Origin, Reply } from "../bind.ts";
import { pageFile, safe } from "../html.ts";

/** A page about logging in. */
interface Page {
  readonly title: string;
  /** HTML. */
  readonly body: string;
  readonly script?: string;
  /** Where its script may send to, beside this control plane. */
  readonly connect?: string;
  readonly status?: number;
  readonly headers?: Reply["headers"];
}

/** Where a call came from; pages are never asked for through a queue. */
export const originOf = ({ origin }: Call): Origin =>
  origin ?? { address: "", site: () => "", session: null, login: null, wantsPage: false };

/** A page that loads nothing from anywhere, and that no other page can show or send to. */
export function pageReply({
  title,
  body,
  script,
  connect = "",
  status = 200,
  headers,
}: Page): Reply {
  const nonce = randomBytes(16).toString("base64");
  const policy = [
    ...["default-src 'none'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"],
    ...[`style-src 'nonce-${nonce}'`, `script-src 'nonce-${nonce}'`],
    `connect-src 'self' ${connect}`.trim(),
  ];
  return {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy.join("; "),
      "cache-control": "no-store",
      // Without any referrer browsers would not say either that a form comes from here.
      "referrer-policy": "same-origin",
      "x-frame-options": "DENY",
      ...headers,
    },
    body: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${safe(title)} - ${product.title}</title>
<style nonce="${nonce}">${pageFile("login.css")}</style>
<main>
<h1>${safe(title)}</h1>
${body}
</main>
${script === undefined ? "" : `<script nonce="${nonce}">${script}</script>\n`}</html>
`,
  };
}

/** Sends a browser on to a path of this control plane. */
export const goTo = (path: string, cookies: string[] = []): Reply => ({
  status: 302,
  headers: {
    location: path,
    "cache-control": "no-store",
    ...(cookies.length > 0 && { "set-cookie": cookies }),
  },
  body: null,
});
