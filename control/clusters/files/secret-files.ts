import { createHash } from "node:crypto";
import { fail } from "../../../common/errors.ts";
import type { Task } from "../../../contract/task.ts";
import type { Load, Scope, SecretParcel } from "./parcels.ts";

/** The secrets that a task has as files. Those that are stored were looked up before. */
export function secretFilesOf({ managedSecrets, secrets }: Task, scope: Scope): SecretParcel[] {
  return managedSecrets.flatMap(({ name, mountPath: destination }) => {
    if (destination === undefined) return [];
    if (scope === "workdir")
      fail("ValueError", `managed_secrets: ${name} is a file, which only a launch brings to nodes`);
    return [{ name: `secret ${name}`, destination, secret: secrets[name]?.reveal() ?? "" }];
  });
}

/** A file that its user alone may read. */
export function readSecretFile({ secret }: SecretParcel): Load {
  const bytes = Buffer.from(secret);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return {
    entries: [{ kind: "file", path: "", size: bytes.length, mode: 0o600, sha256 }],
    contents: { by: "control", fileOf: () => bytes },
  };
}
