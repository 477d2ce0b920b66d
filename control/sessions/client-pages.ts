import type { InputOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import { authOperations } from "../../contract/operations/auth.ts";
import type { Call, Reply } from "../bind.ts";
import type { Ground } from "../ground.ts";
import { pageFile, safe } from "../html.ts";
import { makeToken } from "./client-login.ts";
import { pageReply } from "./page.ts";

const authorizeAddress = authOperations.authorize.route.split(" ")[1];
const needsScript =
  '<noscript><p role="alert">This page needs JavaScript. Allow it for this address and load the page again.</p></noscript>';

/** Who gets the login, and how to become somebody else. */
const asUser = ({ user }: Call): string => `
<p>You are logged in as <strong>${safe(user.name)}</strong>.</p>`;

/** The page with the button that approves the login of a client; its script reads the challenge. */
export const authorizePage = async (_ctx: Ground, _input: unknown, call: Call): Promise<Reply> =>
  pageReply({
    title: "Log in on the command line",
    body: `${asUser(call)}
<p>A command line asks to act as you. <strong>Continue only if you have just started its login
yourself.</strong> If a link brought you here that somebody sent you, close this page.</p>
${needsScript}
<p role="alert" id="problem"></p>
<p role="status" id="done"></p>
<button type="button" id="authorize">Authorize</button>`,
    script: `const address = ${JSON.stringify(authorizeAddress)};${pageFile("authorize.js")}`,
  });

const handOverTo = (port: number) => `
<p>A command line waits for it on port ${port} of this machine. <strong>Continue only if you have just started
its login yourself.</strong></p>
<button type="button" id="hand-over">Hand over</button>`;

/**
 * The page that shows a login token, and hands it to a client that waits on a port of the browser's machine.
 * Not before its user says so: a link from elsewhere may name the port of whatever else listens there.
 */
export async function tokenPage(
  ctx: Ground,
  { local_port: port }: InputOf<typeof authOperations.tokenPage>,
  call: Call,
): Promise<Reply> {
  const token = await makeToken(ctx, call);
  const waiting = port === null ? undefined : `http://localhost:${port}`;
  return pageReply({
    title: "Login token",
    body: `${asUser(call)}
<p role="status" id="done"></p>${port === null ? "" : handOverTo(port)}
<label for="token">Token</label>
<textarea id="token" readonly spellcheck="false" aria-describedby="about">${token}</textarea>
<p class="faint" id="about">Paste it into the command line that asks for it. Anyone who has it can act as you
until it expires or you run <code>${product.word} logout</code> there.</p>
<button type="button" id="copy" hidden>Copy</button>`,
    script: `const waiting = ${JSON.stringify(waiting ?? null)};${pageFile("token.js")}`,
    ...(waiting !== undefined && { connect: waiting }),
  });
}
