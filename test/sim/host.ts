import { AppError } from "../../common/errors.ts";
import type { Context } from "../../control/context.ts";
import { LeaseLostError } from "../../control/db/lease.ts";
import type { Process } from "./clock.ts";
import { databaseFull, watchStatements } from "./database.ts";
import { watchDisk, withFlushes } from "./machine.ts";
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
  /** Freezes control for a while, in which another one takes over: the first has to end without a word. */
  overtake(forMs: number): void;
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
  /** A pass over a task of a managed job went well. */
  passed(id: string): void;
  /** Something was committed to these tables, or control takes calls again. */
  changed(written?: ReadonlySet<string>): void;
}

/** A run of control, from its start to its end. */
interface Life {
  readonly process: Process;
  ctx?: Context;
  /** While it takes calls. */
  program?: Program;
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
  const lives = new Set<Life>();
  let current: Life | undefined;
  let statementsLeft = Number.POSITIVE_INFINITY;
  let awayMs = 0;

  let fullUntil = 0;
  let room = { statements: 0, forMs: 0 };

  const isFull = () => clock.now() < fullUntil;
  const failed = (error: unknown) => !isOfDead(error) && watcher.failed(error);
  process.on("unhandledRejection", failed);
  watchStatements({
    before(sql) {
      const mine = clock.process();
      if (mine === current?.process && --statementsLeft <= 0) crash(current);
      // What a dead process still does until its task ends is done to nothing.
      if (!mine.isAlive) throw new DeadError("control is dead");
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

  function crash(life: Life): void {
    watcher.note("control crashes");
    kill(life);
    clock.after(awayMs, start, "host");
  }

  function kill(life: Life): void {
    if (life === current) {
      current = undefined;
      statementsLeft = Number.POSITIVE_INFINITY;
    }
    lives.delete(life);
    clock.kill(life.process);
    // Closed in the midst of a transaction, a database is as it was before.
    void life.ctx?.db.destroy();
  }

  function start(): void {
    watcher.note("control starts");
    const life: Life = { process: clock.begin() };
    current = life;
    lives.add(life);
    const told = {
      failed: (error: unknown) => life.process.isAlive && failed(error),
      passed: (id: string) => life === current && watcher.passed(id),
      opened(ctx: Context) {
        life.ctx = Object.assign(ctx, { batch: withFlushes(ctx.batch, random) });
        void ctx.lease.lost.then(() => end(life));
      },
    };
    clock
      .within(life.process, () => startProgram(home, outside(), told))
      .then(
        (program) => {
          const call: Program["call"] = (...given) =>
            clock.within(life.process, () => program.call(...given));
          const read: Program["read"] = (...given) =>
            clock.within(life.process, () => program.read(...given));
          const collect = () => clock.within(life.process, program.collect);
          life.program = { ...program, call, read, collect };
          watcher.changed();
        },
        (error: unknown) => life.process.isAlive && notStarted(life, error),
      );
  }

  /** As `control/main.ts` does once another one has taken over. */
  function end(life: Life): void {
    if (!life.process.isAlive) return;
    watcher.note("control was overtaken, and ends");
    kill(life);
  }

  /** What starts programs tries again a while later. */
  function notStarted(life: Life, error: unknown): void {
    const isOfRoom = error instanceof AppError && error.type === "DiskFullError";
    if (!isOfRoom) return void failed(error);
    watcher.note("control finds no room to start");
    kill(life);
    clock.after(againMs, start, "host");
  }

  return {
    program: () => current?.program,
    start,
    overtake(forMs) {
      if (current?.program === undefined) return;
      clock.pause(current.process, forMs);
      start();
    },
    fill(statements, forMs) {
      room = { statements, forMs };
    },
    crash(statements, forMs) {
      awayMs = forMs;
      statementsLeft = statements;
      if (statements === 0 && current !== undefined) crash(current);
    },
    async restart() {
      const life = current;
      const stopping = life?.program;
      if (life === undefined || stopping === undefined) return;
      delete life.program;
      watcher.note("control stops");
      await clock.within(life.process, () => stopping.stop()).catch(failed);
      // One that crashed on its way starts again by itself.
      if (!life.process.isAlive) return;
      kill(life);
      start();
    },
    calm() {
      fullUntil = 0;
      room.statements = 0;
      statementsLeft = Number.POSITIVE_INFINITY;
    },
    async close() {
      for (const life of lives) {
        kill(life);
        await life.ctx?.db.destroy();
      }
      watchStatements(undefined);
      watchDisk(() => false);
      process.off("unhandledRejection", failed);
    },
  };
}

class DeadError extends Error {
  override readonly name = "DeadError";
}

/** What a process that ended, or has to end, meets on its last steps. */
export const isOfDead = (error: unknown): boolean =>
  error instanceof DeadError || error instanceof LeaseLostError;
