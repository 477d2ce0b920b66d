import { createHash, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import type { Server, Socket } from "node:net";
import { fail } from "../../common/errors.ts";
import type { Secret } from "../../common/secret.ts";
import { type Owners, openOwners } from "./owners.ts";

/** Who may call, as long as there is no login layer. */
export interface Access {
  /** Throws `AuthenticationError` for a caller that is neither our own user nor root and has no token. */
  check(req: IncomingMessage): Promise<void>;
}

const root = 0;
/** Stands for every user that a namespace does not know. Source: user_namespaces(7). */
const overflow = 65_534;

/**
 * Whom a connection belongs to is asked once, when it first carries a request without the token. A
 * server on a socket of the file system serves all whom the modes of its folder let in.
 */
export function openAccess(token: Secret, server: Server, owners: Owners = openOwners()): Access {
  const own = ownUsers();
  const known = new WeakMap<Socket, Promise<boolean>>();
  const isLetIn = async (socket: Socket) =>
    typeof server.address() === "string" || belongsTo(own, socket, owners);
  return {
    async check({ headers, socket }) {
      if (carries(headers.authorization, token)) return;
      const isOwn = known.get(socket) ?? isLetIn(socket);
      known.set(socket, isOwn);
      if (!(await isOwn)) refuse();
    },
  };
}

const refuse = (): never =>
  fail(
    "AuthenticationError",
    "this control plane serves the user who started it; to call it as another user, send the token of " +
      "its home, which the command line reads from OUTRIGGER_TOKEN",
  );

/** A connection that is broken off has no addresses any more, and belongs to nobody. */
async function belongsTo(own: readonly number[], socket: Socket, owners: Owners): Promise<boolean> {
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  if (!remoteAddress || !remotePort || !localAddress || !localPort) return false;
  const from = { ip: remoteAddress, port: remotePort };
  const uid = await owners.of({ from, to: { ip: localAddress, port: localPort } });
  return uid !== undefined && own.includes(uid);
}

/** Root and ourselves, unless the kernel writes strangers as it writes us. */
function ownUsers(): number[] {
  const uid = process.getuid?.();
  if (uid === undefined || (uid === overflow && !seesAllUsers())) return [root];
  return [root, uid];
}

const seesAllUsers = () =>
  /^\s*0\s+0\s+4294967295\s*$/.test(readFileSync("/proc/self/uid_map", "utf8"));

function carries(authorization: string | undefined, token: Secret): boolean {
  const [, given] = /^bearer +(\S+)$/i.exec(authorization ?? "") ?? [];
  return given !== undefined && timingSafeEqual(digestOf(given), digestOf(token.reveal()));
}

const digestOf = (text: string) => createHash("sha256").update(text).digest();
