import type { Context } from "../../control/context.ts";
import type { Provider } from "../../control/providers/provider.ts";
import { watchStatements } from "./machine.ts";
import type { Network } from "./network.ts";
import { type Program, startProgram } from "./program.ts";

/** Where control runs: it may crash at any statement, and comes back with what is on disk. */
export interface Host {
  /** Control, while it takes calls. */
  program(): Program | undefined;
  start(): void;
  /** Has control crash before so many statements more, and start again a while later. */
  crash(statements: number, awayMs: number): void;
  /** Has control stop in order, and start again. */
  restart(): Promise<void>;
  /** Faults are over. */
  calm(): void;
  /** Ends it for good. */
  close(): Promise<void>;
}

/** What a host tells of. */
export interface HostWatcher {
  note(line: string): void;
  /** Control has a bug: it threw, rejected or logged this. */
  failed(error: unknown): void;
  /** Something was committed, or control takes calls again. */
  changed(): void;
}

/** Opens a host on a home, without control. */
export function openHost(
  home: string,
  network: Network,
  provider: () => Provider,
  watcher: HostWatcher,
): Host {
  const { clock } = network;
  let program: Program | undefined;
  let ctx: Context | undefined;
  let isDown = true;
  let statementsLeft = Number.POSITIVE_INFINITY;
  let awayMs = 0;

  const failed = (error: unknown) => isDown || watcher.failed(error);
  process.on("unhandledRejection", failed);
  watchStatements({
    before() {
      if (!isDown && --statementsLeft <= 0) die();
      // What a dead program still does until its task ends is done to nothing.
      if (isDown) throw new Error("control is dead");
    },
    committed: watcher.changed,
  });

  function die(): void {
    watcher.note("control crashes");
    kill();
    clock.after(awayMs, start);
  }

  function kill(): void {
    statementsLeft = Number.POSITIVE_INFINITY;
    isDown = true;
    program = undefined;
    clock.kill();
    network.killed();
    // Closed in the midst of a transaction, a database is as it was before.
    void ctx?.db.destroy();
  }

  function start(): void {
    watcher.note("control starts");
    isDown = false;
    clock.revive();
    const isOurs = network.sameProgram();
    const opened = (world: Context) => {
      ctx = world;
    };
    startProgram(home, provider(), { opened, failed }).then(
      (started) => {
        if (isOurs()) program = started;
        watcher.changed();
      },
      (error: unknown) => isOurs() && failed(error),
    );
  }

  return {
    program: () => program,
    start,
    crash(statements, forMs) {
      awayMs = forMs;
      statementsLeft = statements;
      if (statements === 0 && !isDown) die();
    },
    async restart() {
      const stopping = program;
      if (stopping === undefined) return;
      program = undefined;
      watcher.note("control stops");
      const isOurs = network.sameProgram();
      await stopping.stop().catch(failed);
      // One that crashed on its way starts again by itself.
      if (!isOurs()) return;
      network.killed();
      start();
    },
    calm() {
      statementsLeft = Number.POSITIVE_INFINITY;
    },
    async close() {
      kill();
      await ctx?.db.destroy();
      watchStatements(undefined);
      process.off("unhandledRejection", failed);
    },
  };
}
