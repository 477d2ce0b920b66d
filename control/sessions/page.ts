import { randomBytes } from "node:crypto";
import { product } from "../../common/product.ts";
import type { Call, Origin, Reply } from "../bind.ts";
import { safe } from "../html.ts";

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
<style nonce="${nonce}">${style}</style>
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

const style = `
:root { color-scheme: light dark; --paper: light-dark(#fcfbf8, #15171b);
  --raised: light-dark(#ffffff, #1c1f25); --ink: light-dark(#1d2025, #e4e3de);
  --faint: light-dark(#5c626b, #a3a9b3); --line: light-dark(#8a8f97, #6d737d);
  --accent: light-dark(#0b6e63, #5cc8b8); --on-accent: light-dark(#ffffff, #15171b);
  --alarm: light-dark(#9c2626, #f4a39c); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 26rem; margin: 12vh auto 4rem; padding: 0 1.5rem; }
h1 { margin: 0 0 1rem; font-size: 1.5rem; }
label { display: block; margin: 1rem 0 .25rem; font-weight: 500; }
input, textarea { width: 100%; padding: .55rem .7rem; font: inherit; color: inherit;
  background: var(--raised); border: 1px solid var(--line); border-radius: .4rem; }
textarea { min-height: 9rem; font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .85rem; }
button, .button { display: inline-block; margin: 1.25rem .5rem 0 0; padding: .55rem 1.1rem; font: inherit;
  font-weight: 500; color: var(--on-accent); background: var(--accent); text-decoration: none;
  border: 1px solid var(--accent); border-radius: .4rem; cursor: pointer; }
button.second { color: var(--accent); background: transparent; }
button:disabled { opacity: .6; cursor: default; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
a { color: var(--accent); }
.faint { color: var(--faint); }
[role="alert"] { padding: .6rem .8rem; color: var(--alarm); border: 1px solid; border-radius: .4rem; }
[role="alert"]:empty, [hidden] { display: none; }
`;
