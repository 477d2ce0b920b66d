import type { Secret } from "../../../common/secret.ts";

/** A private key by the name that people know it by. */
export interface SshKey {
  readonly name: string;
  readonly text: Secret;
}

/** A machine with an SSH server, and how to log in there. */
export interface SshTarget {
  readonly address: string;
  readonly port: number;
  readonly user: string;
  readonly keys: readonly SshKey[];
  /** The socket of an SSH agent that may have keys too. */
  readonly agentSocket: string | null;
  readonly password: Secret | null;
  /** The fingerprint that it must show; null is the one that it showed first. */
  readonly hostKey: string | null;
  /** The machine through which it is reached. */
  readonly jump: SshTarget | null;
}

/** What tells one machine from all others: `[10.0.0.5]:22`, and the way there. */
export const machineOf = ({ address, port, jump }: SshTarget): string =>
  `[${address}]:${port}${jump === null ? "" : ` via ${machineOf(jump)}`}`;

/** A machine in messages: `10.0.0.5`, with its port where that is not the usual one. */
export const nameOf = ({ address, port }: SshTarget): string =>
  port === usualPort ? address : `${address}:${port}`;

/** Where SSH servers listen unless told otherwise. */
export const usualPort = 22;
