import { fail } from "../../../common/errors.ts";
import { readNamed } from "../../../common/files.ts";
import { fillTemplate } from "../../../contract/task/substitution.ts";
import type { Call } from "../../bind.ts";
import type { Context } from "../../context.ts";
import { pathInUpload } from "../../wire/upload-place.ts";
import type { VersionTask } from "../schema.ts";
import type { OpenVersion } from "./task.ts";
import { checkPair, remarkOnCertificate } from "./tls.ts";

/** Far more than a chain of certificates has. */
const largestPemBytes = 256 * 1024;

interface Given {
  readonly task: string;
  readonly file_mounts_blob_id?: string | null | undefined;
}

/**
 * A task with what its files say that must outlive the upload, remarked on where clients will refuse it.
 * Throws for files that did not come.
 */
export async function versionTaskOf(
  ctx: Context,
  { task: yaml, file_mounts_blob_id: blobId = null }: Given,
  open: Pick<OpenVersion, "task" | "spec">,
  call: Call,
): Promise<VersionTask> {
  return { yaml, blobId, tls: await readTls(ctx, blobId, open, call) };
}

async function readTls(
  ctx: Context,
  blobId: string | null,
  { task, spec }: Pick<OpenVersion, "task" | "spec">,
  call: Call,
): Promise<VersionTask["tls"]> {
  if (spec.tls === undefined) return null;
  const { keyFile, certFile } = fillTemplate(spec.tls, task.secrets);
  const files = await (await ctx.uploads.open(call.user.id, blobId))?.entries();
  const read = (path: string): string => {
    const place = pathInUpload(task.uploadedPaths[path] ?? "");
    const entry = files?.find((one) => one.path === place);
    if (entry?.kind !== "file") return fail("ValueError", `service.tls: ${path} was not uploaded`);
    if (entry.size > largestPemBytes)
      return fail("ValueError", `service.tls: ${path} has more than ${largestPemBytes} bytes`);
    const file = ctx.uploads.contentOf(call.user.id, entry.sha256);
    return readNamed(file, { mostBytes: largestPemBytes }).toString();
  };
  const tls = { key: read(keyFile), cert: read(certFile) };
  checkPair(tls, { key: keyFile, cert: certFile });
  call.print(remarkOnCertificate(tls.cert, certFile, ctx.now()));
  return tls;
}
