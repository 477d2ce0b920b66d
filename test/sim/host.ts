import { AppError } from "../../common/errors.ts";
import type { Context } from "../../control/context.ts";
import { databaseFull, watchDisk, watchStatements, withFlushes } from "./machine.ts";
import type { Network } from "./network.ts";
import { type Outside, type Program, startProgram } from "./program.ts";
import type { Random } from "./random.ts";

/** Where control runs: it may crash at any statement, and comes back with what is on disk. */
export interface Host {
  /** Control, while it takes calls. */
  program(): Program | undefined;
  start(): void;
  /** Has control crash before so many statements more, and start again a while later. */
  crash(statements: number, awayMs: number): void;
  /** Has control stop in order, and start again. */
  restart(): Promise<void>;
  /** Its disk is full for a while, before so many statements more that write. */
  fill(statements: number, forMs: number): void;
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

/** Statements that take room. */
const writes = /^(insert|update|delete|commit)\b/i;
const againMs = 3_000;

/** Opens a host on a home, without control. */
export function openHost(
  home: string,
  network: Network,
  outside: () => Outside,
  watcher: HostWatcher,
  random: Random,
): Host {
  const { clock } = network;
  let program: Program | undefined;
  let ctx: Context | undefined;
  let isDown = true;
  let statementsLeft = Number.POSITIVE_INFINITY;
  let awayMs = 0;

  let fullUntil = 0;
  let room = { statements: 0, forMs: 0 };

  const isFull = () => clock.now() < fullUntil;
  const failed = (error: unknown) => isDown || watcher.failed(error);
  process.on("unhandledRejection", failed);
  watchStatements({
    before(sql) {
      if (!isDown && --statementsLeft <= 0) die();
      // What a dead program still does until its task ends is done to nothing.
      if (isDown) throw new Error("control is dead");
      if (writes.test(sql)) takeRoom();
    },
    committed: watcher.changed,
  });
  watchDisk(isFull);

  function takeRoom(): void {
    room.statements -= 1;
    if (room.statements === 0) fullUntil = clock.now() + room.forMs;
    if (isFull()) throw databaseFull();
  }

  function die(): void {
    watcher.note("control crashes");
    kill();
    clock.after(awayMs, start, "host");
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
      Object.assign(world, { batch: withFlushes(world.batch, random) });
    };
    startProgram(home, outside(), { opened, failed }).then(
      (started) => {
        if (isOurs()) program = started;
        watcher.changed();
      },
      (error: unknown) => isOurs() && notStarted(error),
    );
  }

  /** What starts programs tries again a while later. */
  function notStarted(error: unknown): void {
    const isOfRoom = error instanceof AppError && error.type === "DiskFullError";
    if (!isOfRoom) return void failed(error);
    watcher.note("control finds no room to start");
    kill();
    clock.after(againMs, start, "host");
  }

  return {
    program: () => program,
    start,
    fill(statements, forMs) {
      room = { statements, forMs };
    },
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
      fullUntil = 0;
      room.statements = 0;
      statementsLeft = Number.POSITIVE_INFINITY;
    },
    async close() {
      kill();
      await ctx?.db.destroy();
      watchStatements(undefined);
      watchDisk(() => false);
      process.off("unhandledRejection", failed);
    },
  };
}
