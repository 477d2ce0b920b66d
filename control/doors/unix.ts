import type { Dispatcher } from "undici";
import { openConnections } from "./connections.ts";

/** The door to an agent on this machine: HTTP over its Unix socket. */
export const openUnixDoor = (socketPath: string): Dispatcher =>
  openConnections({ socketPath, timeout: 2_000 });
