import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { readConfig } from "../../agent/config.ts";
import { type Agent, keys, openAgent } from "../../agent/context.ts";
import type { Log } from "../../common/log.ts";

/** When a world opens, in epoch milliseconds. */
export const openedAt = 1_700_000_000_000;

/** The agent's world in this process. It leads nothing by itself, and its time passes by hand. */
export interface World {
  readonly world: Agent;
  readonly home: string;
  /** In milliseconds; only the wall clock may go back. */
  readonly clock: { wall: number; monotonic: number; asleep: number };
  /** Lets time pass, and tells those who wait for it. */
  pass(ms: number): void;
  /** The world of the agent that follows, if this one is killed now. */
  openNext(): Agent;
}

/** Opens a world on a home of its own, gone with the test; it has the settings, and warns where told to. */
export function aWorld(
  t: TestContext,
  env: Readonly<Record<string, string>> = {},
  warn: Log["warn"] = () => {},
): World {
  const clock = { wall: openedAt, monotonic: 5_000_000, asleep: 0 };
  const log = { debug() {}, info() {}, warn, error() {} };
  const clocks = {
    now: () => clock.wall,
    monotonic: () => clock.monotonic,
    uptime: () => clock.monotonic + clock.asleep,
  };
  const openAt = (home: string) => {
    const stopping = new AbortController();
    const opened = openAgent(readConfig({ ...env, HOME: home }), log, stopping.signal, clocks);
    t.after(() => {
      stopping.abort();
      opened.journal.db.close();
      rmSync(home, { recursive: true });
    });
    return opened;
  };
  const home = aHome();
  const world = openAt(home);
  return {
    ...{ world, home, clock },
    pass(ms) {
      clock.wall += ms;
      clock.monotonic += ms;
      world.changes.notify(keys.lifecycle);
    },
    openNext() {
      const next = aHome();
      cpSync(home, next, { recursive: true, verbatimSymlinks: true });
      return openAt(next);
    },
  };
}

const aHome = (): string => mkdtempSync(join(tmpdir(), "world-"));
