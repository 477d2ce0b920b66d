import type { InputOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import type { authOperations } from "../../contract/operations/auth.ts";
import { localPath } from "../access/places.ts";
import type { Call, Reply } from "../bind.ts";
import type { Ground } from "../ground.ts";
import { safe } from "../html.ts";
import { pageReply } from "./page.ts";

/** What is shown again of a login that failed, and why it did. */
interface Attempt {
  readonly next: string | null;
  readonly name?: string;
  readonly problem?: string;
  readonly status?: number;
  readonly headers?: Reply["headers"];
}

/** The page to log in, or to log out where somebody has logged in. */
export const loginPage = async (
  ctx: Ground,
  { next }: InputOf<typeof authOperations.loginPage>,
  call: Call,
): Promise<Reply> =>
  call.user.id === "" ? loginForm(ctx, { next }) : loggedInPage(call, localPath(next));

const loggedInPage = ({ user }: Call, next: string): Reply =>
  pageReply({
    title: "Logged in",
    body: `<p>You are logged in to ${product.title} as <strong>${safe(user.name)}</strong>.</p>
<a class="button" href="${safe(next)}">Continue</a>
<form method="post" action="/logout"><button class="second">Log out</button></form>`,
  });

/** The page to log in, in each way that the settings allow. */
export function loginForm({ config }: Ground, attempt: Attempt): Reply {
  const { problem = "", status, headers } = attempt;
  const next = localPath(attempt.next);
  const ways = [
    ...(config.login.includes("password") ? [passwordForm(next, attempt.name)] : []),
    ...(config.login.includes("oidc") ? [providerLink(next)] : []),
  ];
  return pageReply({
    title: `Log in to ${product.title}`,
    body: [problem && alertOf(problem), ...(ways.length > 0 ? ways : [elsewhere])]
      .filter(Boolean)
      .join("\n"),
    ...(status !== undefined && { status }),
    ...(headers !== undefined && { headers }),
  });
}

const passwordForm = (next: string, name = "") => `<form method="post" action="/login">
<input type="hidden" name="next" value="${safe(next)}">
<label for="name">Name</label>
<input id="name" name="name" value="${safe(name)}" autocomplete="username" autocapitalize="none"
  spellcheck="false" required${name === "" ? " autofocus" : ""}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${name === "" ? "" : " autofocus"}>
<button>Log in</button>
</form>`;

const providerLink = (next: string) =>
  `<a class="button" href="/auth/oidc?${safe(String(new URLSearchParams({ next })))}">Log in with single sign-on</a>`;

const elsewhere = `<p>There is no login on this page: this control plane takes tokens of service accounts, or
what the proxy in front of it says. Open it by the address of that proxy.</p>`;

/** A page that says why nobody was logged in, and how to try again. */
export const problemPage = (
  problem: string,
  { status, headers }: Pick<Attempt, "status" | "headers">,
) =>
  pageReply({
    title: "Not logged in",
    body: `${alertOf(problem)}\n<a class="button" href="/login">Try again</a>`,
    ...(status !== undefined && { status }),
    ...(headers !== undefined && { headers }),
  });

/** The message of an error as a sentence of its own. */
const alertOf = (message: string): string =>
  `<p role="alert">${safe(`${message[0]?.toUpperCase() ?? ""}${message.slice(1)}.`)}</p>`;
