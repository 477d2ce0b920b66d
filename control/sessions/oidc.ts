import { type AppError, errorTypes, fail, toAppError } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import type { authOperations } from "../../contract/operations/auth.ts";
import { loginCookie, setCookie } from "../access/cookies.ts";
import { localPath } from "../access/places.ts";
import type { Call, Reply } from "../bind.ts";
import type { Ground } from "../ground.ts";
import { ensureUser } from "../users/ensure.ts";
import { auditRefusedLogin } from "./begin.ts";
import { problemPage } from "./login-page.ts";
import { goTo, originOf } from "./page.ts";
import { beginAt, type Claimed, finishAt, type Pending } from "./provider.ts";
import { welcome } from "./welcome.ts";

const method = "oidc";
const patienceSeconds = 600;
const path = "/auth";

/** What the browser keeps, sealed, while it is at the identity provider. */
interface Kept extends Pending {
  readonly kind: typeof method;
  readonly next: string;
  readonly until: number;
}

/** Sends the browser to the identity provider. */
export async function startOidc(
  ctx: Ground,
  { next }: InputOf<typeof authOperations.oidcStart>,
  call: Call,
): Promise<Reply> {
  const site = originOf(call).site();
  try {
    requireOidc(ctx);
    const { url, pending } = await beginAt(ctx, `${site}${path}/callback`);
    const until = ctx.now().getTime() + patienceSeconds * 1_000;
    const kept: Kept = { ...pending, kind: method, next: localPath(next), until };
    const sealed = ctx.seal.seal(JSON.stringify(kept)).toString("base64url");
    return goTo(url, [setCookie(loginCookie, sealed, { site, path, seconds: patienceSeconds })]);
  } catch (error) {
    return refusalPage(ctx, call, toAppError(error), "");
  }
}

/** Logs in whom the identity provider names; each login that was begun comes back once. */
export async function finishOidc(
  ctx: Ground,
  input: InputOf<typeof authOperations.oidcCallback>,
  call: Call,
): Promise<Reply> {
  const given = Object.entries(input).filter((pair): pair is [string, string] => pair[1] !== null);
  let claimed: Claimed | undefined;
  try {
    requireOidc(ctx);
    const kept = keptIn(ctx, originOf(call).login);
    claimed = await finishAt(ctx, kept, new URLSearchParams(given));
    const user = await ensureUser(ctx, { ...claimed, kind: "sso" });
    return await welcome(ctx, call, { user, method, next: kept.next }, [forget(call)]);
  } catch (error) {
    return refusalPage(ctx, call, toAppError(error), claimed?.name ?? "");
  }
}

const forget = (call: Call): string =>
  setCookie(loginCookie, "", { site: originOf(call).site(), path, seconds: 0 });

function requireOidc({ config }: Ground): void {
  if (!config.login.includes("oidc"))
    fail("NotFoundError", "identity provider login is not enabled here");
}

/** Throws `AuthenticationError` where this browser began no login, or too long ago. */
function keptIn(ctx: Ground, sealed: string | null): Kept {
  const kept = sealed === null ? undefined : opened(ctx, sealed);
  if (kept?.kind === method && kept.until > ctx.now().getTime()) return kept;
  return fail(
    "AuthenticationError",
    "this login was started in another browser, or more than ten minutes ago",
  );
}

function opened({ seal }: Ground, sealed: string): Kept | undefined {
  try {
    return JSON.parse(seal.open(Buffer.from(sealed, "base64url")));
  } catch {
    return undefined;
  }
}

/** Says on a page why the login failed, and writes it down. */
async function refusalPage(
  ctx: Ground,
  call: Call,
  refusal: AppError,
  userName: string,
): Promise<Reply> {
  if (refusal.type === "InternalError") throw refusal;
  const { address } = originOf(call);
  ctx.log.info({ reason: refusal.message, address }, "login refused");
  await auditRefusedLogin(ctx, { userName, method, address }, refusal);
  return problemPage(refusal.message, {
    status: errorTypes[refusal.type].http,
    headers: { "set-cookie": [forget(call)] },
  });
}
