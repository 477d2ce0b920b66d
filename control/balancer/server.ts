import { renameSync, rmSync, statSync } from "node:fs";
import { fail } from "../../common/errors.ts";
import type { Log } from "../../common/log.ts";
import type { Operation } from "../../common/operation.ts";
import { findProcess } from "../../common/process-tree.ts";
import { type Bound, serve } from "../../common/server.ts";
import { leftSocketOf } from "../../contract/balancer-api.ts";

/** What listens to control. */
export interface ControlSide {
  /** Resolves once the socket is not ours any more: control cannot find us, and never will. */
  readonly lost: Promise<void>;
  /** Lets control find us no more, unless a newer balancer has our place, and breaks all calls off. */
  leave(): void;
  /** Takes away what is left of the socket. */
  close(): void;
}

const lookEveryMs = 2_000;
const bodyBytesAtMost = 4 * 1024 * 1024;

/** Serves a table of operations on a Unix socket that only its owner may open. */
export async function serveControl<Rows extends Record<string, Operation>>(
  rows: Rows,
  bound: Bound<Rows>,
  { socket, log }: { socket: string; log: Log },
): Promise<ControlSide> {
  const server = await serve(rows, bound, { socket, log, bodyBytesAtMost });
  const { ino } = statSync(socket);
  const left = leftSocketOf(
    socket,
    findProcess(process.pid) ?? fail("RuntimeError", "/proc has no such process"),
  );
  const isOurs = () => statSync(socket, { throwIfNoEntry: false })?.ino === ino;
  const lost = Promise.withResolvers<void>();
  const watch = setInterval(() => isOurs() || lost.resolve(), lookEveryMs).unref();
  return {
    lost: lost.promise,
    leave() {
      clearInterval(watch);
      if (isOurs()) renameSync(socket, left);
      server.closeAllConnections();
    },
    close() {
      clearInterval(watch);
      // The server itself is left open: closed, it would remove whatever has its path by now.
      if (isOurs()) rmSync(socket, { force: true });
      rmSync(left, { force: true });
    },
  };
}
