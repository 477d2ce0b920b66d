import { closeSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { Server as TlsServer } from "node:tls";
import { errorCodeOf, fail } from "../../common/errors.ts";
import { firstInherited } from "../../common/start-detached.ts";

export interface Place {
  readonly host: string;
  readonly port: number;
  /** Whether others of the same user may listen there too: so one takes over from another. */
  readonly isShared?: boolean;
  /** How many sockets that listen there were inherited, from `firstInherited` on. */
  readonly inherited?: number;
  /** How many listeners accept connections there. */
  readonly listeners?: number;
}

/** What clients are met with, as PEM texts. */
export interface TlsPair {
  readonly key: string;
  readonly cert: string;
}

/** Waits until the server listens; returns where. Throws `ConfigError` when it cannot. */
export async function listenOn(server: Server, { host, port }: Place): Promise<AddressInfo> {
  try {
    return await open(server, { host, port });
  } catch (error) {
    fail("ConfigError", `cannot listen on ${host}:${port}: ${errorCodeOf(error) ?? error}`);
  }
}

/**
 * Has all the servers listen at one place; returns where, and those that do. Node.js accepts one connection a
 * turn of its loop for each of them, so with several a crowd of new clients waits less. Where a port cannot be shared,
 * only the first one listens. Throws `ConfigError` when none can.
 */
export async function listenTogether(
  servers: readonly [Server, ...Server[]],
  place: Place,
): Promise<{ address: AddressInfo; listening: readonly Server[] }> {
  const { host, isShared = false, inherited = 0 } = place;
  // A port that may be shared could be taken without a word while somebody else has it.
  const port = isShared ? place.port : await findFree(place);
  try {
    const at = (nth: number, port: number): Where =>
      nth < inherited ? { fd: firstInherited + nth } : { host, port, reusePort: true };
    const address = await open(servers[0], at(0, port));
    for (const [nth, server] of servers.entries())
      if (nth > 0) await open(server, at(nth, address.port));
    for (let nth = servers.length; nth < inherited; nth += 1) closeSync(firstInherited + nth);
    return { address, listening: servers };
  } catch (error) {
    for (const server of servers) server.close();
    if (errorCodeOf(error) === "ENOTSUP")
      return { address: await listenOn(servers[0], { host, port }), listening: [servers[0]] };
    fail("ConfigError", `cannot listen on ${host}:${port}: ${errorCodeOf(error) ?? error}`);
  }
}

/** The port of a place, which nobody listens on now. Throws `ConfigError` when it is taken. */
export async function findFree(place: Place): Promise<number> {
  const probe = createServer();
  const { port } = await listenOn(probe, place);
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

type Where = { fd: number } | { host: string; port: number; reusePort?: boolean };

async function open(server: Server, where: Where): Promise<AddressInfo> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen({ ...where, backlog: 4_096 }, resolve);
  await promise;
  return server.address() as AddressInfo;
}

/** The file descriptor of a server; none once it is closed. Node.js has no public name for it. */
export function socketOf(server: Server): number[] {
  const { _handle } = server as unknown as { _handle: { fd: number } | null };
  return _handle === null ? [] : [_handle.fd];
}

const options = { pauseOnConnect: true, noDelay: true, allowHalfOpen: true };

/** A server whose connections nobody reads yet. */
export const acceptPlain = (take: (accepted: Socket) => void): Server =>
  createServer(options, take);

/** The same for TLS: connections are taken once their handshake is over. Throws when it is no pair. */
export function acceptTls(
  { key, cert }: TlsPair,
  handshakeTimeout: number,
  take: (accepted: Socket) => void,
): TlsServer {
  // Only who has a certificate pays for what it is read with.
  const tls = process.getBuiltinModule("node:tls");
  const { noDelay, allowHalfOpen } = options;
  const how = { key, cert, handshakeTimeout, noDelay, allowHalfOpen, ALPNProtocols: ["http/1.1"] };
  return tls.createServer(how, take);
}
