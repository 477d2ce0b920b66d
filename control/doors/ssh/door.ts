import type { Duplex } from "node:stream";
import type { Dispatcher } from "undici";
import { openConnections } from "../connections.ts";

/**
 * The door to an agent that is reached over channels, one for each exchange at a time. `open` makes a
 * channel to its socket; it is asked anew whenever the way there was lost.
 */
export const openChannelDoor = (open: () => Promise<Duplex>): Dispatcher =>
  openConnections(((
    _options: unknown,
    done: (error: Error | null, socket: Duplex | null) => void,
  ) => {
    open().then(
      (channel) => done(null, channel),
      // Callers of an agent are told one thing: it cannot be reached.
      (cause: Error) => done(new Error(cause.message, { cause }), null),
    );
  }) as never);
