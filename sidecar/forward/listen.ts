import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { Server as TlsServer } from "node:tls";
import { errorCodeOf, fail } from "../../common/errors.ts";

export interface Place {
  readonly host: string;
  readonly port: number;
  /** Whether others of the same user may listen there too: so one takes over from another. */
  readonly isShared?: boolean;
}

/** What clients are met with, as PEM texts. */
export interface TlsPair {
  readonly key: string;
  readonly cert: string;
}

/** Waits until the server listens; answers where. Throws `ConfigError` when it cannot. */
export async function listenOn(server: Server, place: Place): Promise<AddressInfo> {
  const { host, port, isShared = false } = place;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen({ host, port, backlog: 4_096, reusePort: isShared }, resolve);
  try {
    await promise;
  } catch (error) {
    // Not every system can share a port.
    if (isShared && errorCodeOf(error) === "ENOTSUP")
      return listenOn(server, { host, port, isShared: false });
    fail("ConfigError", `cannot listen on ${host}:${port}: ${errorCodeOf(error) ?? error}`);
  }
  return server.address() as AddressInfo;
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
