import { timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import type { Server, Socket } from "node:net";
import type { Secret } from "../../common/secret.ts";
import { bearerOf } from "../access/bearer.ts";
import { type Owners, openOwners } from "./owners.ts";

/** Callers that may read this home's files, and so may do everything. */
export interface LocalAccess {
  /** Whether a call carries the token of this home. */
  carriesToken(req: IncomingMessage): boolean;
  /** Whether a call comes from our own user or root. */
  isOwn(req: IncomingMessage): Promise<boolean>;
}

const root = 0;
/** Stands for every user that a namespace does not know. Source: user_namespaces(7). */
const overflow = 65_534;

/**
 * The owner of a connection is looked up once, when it first carries a request without the token. A
 * server on a socket of the file system serves all whom the modes of its folder let in.
 */
export function openLocalAccess(
  token: Secret,
  server: Server,
  owners: Owners = openOwners(),
): LocalAccess {
  const own = ownUsers();
  const secret = Buffer.from(token.reveal());
  const known = new WeakMap<Socket, Promise<boolean>>();
  const isLetIn = async (socket: Socket) =>
    typeof server.address() === "string" || belongsTo(own, socket, owners);
  return {
    carriesToken({ headers }) {
      const token = bearerOf(headers);
      return token !== undefined && isSame(secret, token);
    },
    isOwn({ socket }) {
      const isOwn = known.get(socket) ?? isLetIn(socket);
      known.set(socket, isOwn);
      return isOwn;
    },
  };
}

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

/** How long the secret is may be known. */
function isSame(secret: Buffer, given: string): boolean {
  const bytes = Buffer.from(given);
  return bytes.length === secret.length && timingSafeEqual(bytes, secret);
}
