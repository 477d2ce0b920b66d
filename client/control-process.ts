import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errorCodeOf } from "../common/errors.ts";
import { isAlive } from "../common/process-tree.ts";
import { envNames } from "../common/product.ts";
import { type ControlProcess, controlPidFile } from "../contract/control-pid.ts";

/** Whose control plane it is. */
interface Home {
  readonly home: string;
}

export const pidFileOf = ({ home }: Home): string => join(home, controlPidFile);
export const logFileOf = ({ home }: Home): string => join(home, "control.log");

/** The control plane of this home folder that runs now; undefined when none does. */
export function findControl(home: Home): ControlProcess | undefined {
  const written = readPidFile(pidFileOf(home));
  return written !== undefined && isAlive(written) ? written : undefined;
}

/** Where control listens; undefined as long as it does not. */
export function addressOf(address: WantedAddress & { tls?: boolean }): string | undefined {
  const { host, port, tls = false } = address;
  if (host === undefined || port === undefined) return undefined;
  return `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Where control was asked to listen; a port of 0 is any. */
export interface WantedAddress {
  readonly host?: string;
  readonly port?: number;
}

/** What is said on the command line of a start. */
export interface WantedControl extends WantedAddress {
  readonly firstAdmin?: string;
}

/** Whether a control plane that listens does so where it was asked to; one that does not yet, may. */
export function listensAt(running: ControlProcess, { host, port }: WantedAddress): boolean {
  const namesHost = host === undefined || host === running.host;
  const isSameMachine = host === "localhost" && /^(127\.|::1$)/.test(running.host ?? "");
  const isHost = running.host === undefined || namesHost || isSameMachine;
  return isHost && (!port || running.port === undefined || port === running.port);
}

/** The environment control starts in: ours, with what was said on the command line. */
export function controlEnv(
  env: Readonly<Record<string, string | undefined>>,
  { home }: Home,
  { host, port, firstAdmin }: WantedControl,
): Record<string, string> {
  const given = Object.entries(env).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  );
  const said = { HOME: home, HOST: host, PORT: port, FIRST_ADMIN: firstAdmin };
  const named = Object.entries(said).flatMap(([suffix, value]) =>
    value === undefined ? [] : [[envNames(suffix)[0], String(value)]],
  );
  return Object.fromEntries([...given, ...named]);
}

function readPidFile(file: string): ControlProcess | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as ControlProcess;
  } catch (error) {
    if (errorCodeOf(error) === "ENOENT" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
