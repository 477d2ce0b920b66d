import type { Client } from "./sdk.ts";
import type { Env, Settings } from "./settings.ts";
import type { Streams, Terminal } from "./terminal.ts";

/** What every command works with. */
export interface World {
  readonly env: Env;
  readonly cwd: string;
  /** The words that start us again. */
  readonly program: readonly string[];
  readonly settings: Settings;
  /** Whether the answer is to be JSON. */
  readonly json: boolean;
  readonly terminal: Terminal;
  /** What the terminal is made of, for what passes bytes on. */
  readonly streams: Streams;
  /** Aborts at Ctrl-C. */
  readonly signal: AbortSignal;
  now(): Date;
  /** The client of the control plane; opened when first asked for. */
  connect(): Promise<Client>;
}

/** Runs a command on its operands and options; the exit code, 0 when it returns none. */
export type Run<Options> = (
  world: World,
  operands: readonly string[],
  options: Options,
) => Promise<number | undefined>;
