import type { IncomingHttpHeaders } from "node:http";
import { AppError } from "../../common/errors.ts";
import { openMinuteLimit } from "../../common/rate-limit.ts";
import type { Authenticator, Head } from "../access/identity.ts";
import { openProxies } from "../access/proxies.ts";
import type { Ground } from "../ground.ts";
import { ensureUser } from "../users/ensure.ts";
import { auditRefusedLogin } from "./begin.ts";

/**
 * Reads the user that an auth proxy names in a header. From an address that is no proxy's the header
 * means nothing, and that it came is written down.
 */
export function proxyOf(ctx: Ground): Authenticator {
  const { login, proxyAddresses, proxyUserHeader, proxyGroupsHeader } = ctx.config;
  const proxies = openProxies(proxyAddresses);
  const noted = openMinuteLimit(1, ctx);

  /** Once a minute for each address, as a client may send it with every call. */
  async function note(head: Head, name: string): Promise<void> {
    const address = proxies.clientOf(head);
    if (noted.take(address) > 0) return;
    const refusal = new AppError(
      "AuthenticationError",
      `${proxyUserHeader} is trusted only from OUTRIGGER_PROXY_ADDRESSES`,
    );
    await auditRefusedLogin(ctx, { userName: name, method: "proxy", address }, refusal);
  }

  return async (head) => {
    if (!login.includes("proxy")) return undefined;
    const name = textOf(head.headers, proxyUserHeader);
    if (name === "") return undefined;
    if (!proxies.includes(head.socket.remoteAddress)) {
      await note(head, name);
      return undefined;
    }
    const groups = textOf(head.headers, proxyGroupsHeader)
      .split(",")
      .map((group) => group.trim())
      .filter(Boolean);
    const user = await ensureUser(ctx, { name, kind: "sso", groups });
    return { userId: user.id, credential: "proxy" };
  };
}

/** The bytes of a header are UTF-8 where a proxy writes names that are not ASCII. */
const textOf = (headers: IncomingHttpHeaders, name: string): string =>
  Buffer.from([headers[name] ?? ""].flat().join(","), "latin1")
    .toString("utf8")
    .trim();
