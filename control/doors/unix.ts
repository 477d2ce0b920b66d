import { type Dispatcher, Pool } from "undici";

/**
 * The door to an agent on this machine: HTTP over its Unix socket. Time limits are set by call, as
 * events and logs stay open for as long as there is something to tell.
 */
export const openUnixDoor = (socketPath: string): Dispatcher =>
  new Pool("http://agent", {
    connect: { socketPath, timeout: 2_000 },
    connections: null,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 60_000,
  });
