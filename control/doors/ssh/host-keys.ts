import { createHash } from "node:crypto";
import { AppError } from "../../../common/errors.ts";
import { machineOf, nameOf, type SshTarget } from "./target.ts";

/** The key that a machine shows: its kind (`ssh-ed25519`) and its fingerprint (`SHA256:...`). */
export interface HostKey {
  readonly kind: string;
  readonly fingerprint: string;
}

/** The keys that machines are known by. */
export interface KnownHosts {
  find(machine: string): Promise<HostKey | undefined>;
  /** Keeps the first key that a machine showed; answers the key that is kept. */
  keep(machine: string, key: HostKey): Promise<HostKey>;
}

/** The key in the bytes that a machine sent. Source: RFC 4253 section 6.6; fingerprints as ssh-keygen(1). */
export function readHostKey(blob: Buffer): HostKey {
  const digest = createHash("sha256").update(blob).digest("base64").replace(/=+$/, "");
  return {
    kind: blob.toString("latin1", 4, 4 + blob.readUInt32BE(0)),
    fingerprint: `SHA256:${digest}`,
  };
}

/** The signatures to ask for first, so that a machine shows the key that it is known by. */
export const signaturesOf = (kind: string): string[] =>
  kind === "ssh-rsa" ? ["rsa-sha2-512", "rsa-sha2-256"] : [kind];

/** Why a machine that shows this key is not to be trusted; undefined when it is. */
export async function distrust(
  target: SshTarget,
  shown: HostKey,
  knownHosts: KnownHosts,
): Promise<AppError | undefined> {
  const { hostKey: pinned } = target;
  const known = pinned ?? (await knownHosts.keep(machineOf(target), shown)).fingerprint;
  if (known === shown.fingerprint) return undefined;
  return new AppError(
    "CloudError",
    `host ${nameOf(target)}: its key has changed: it was ${known}, and is now ` +
      `${shown.fingerprint}. This may be an attack. If the machine was reinstalled, put ` +
      `\`host_key: ${shown.fingerprint}\` next to its address in the pool`,
  );
}
