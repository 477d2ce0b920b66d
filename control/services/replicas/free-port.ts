import { createServer } from "node:net";
import { fail } from "../../../common/errors.ts";
import { openTurnsByKey } from "../../../common/turns.ts";
import type { Context } from "../../context.ts";

/** Ports from the first to the last, as settings write them: `20000-29999`. */
export type PortRange = `${number}-${number}`;

/** Runs what chooses ports, and writes down which, one after another: the next one sees what this one took. */
export const inTurn = openTurnsByKey<Context>();

/** The first port of a range that is free; throws `ResourcesUnavailableError`. */
export async function firstFreePort(
  range: PortRange,
  isFree: (port: number) => Promise<boolean>,
): Promise<number> {
  const [first = 0, last = 0] = range.split("-").map(Number);
  for (let port = first; port <= last; port += 1) if (await isFree(port)) return port;
  return fail("ResourcesUnavailableError", `no port from ${first} to ${last} is free`);
}

/** Whether nobody listens on a port at an address of this machine. */
export function isUnused(port: number, host: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer()
    .once("error", () => resolve(false))
    .listen(port, host, () => server.close(() => resolve(true)));
  return promise;
}
