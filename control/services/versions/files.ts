import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { errorCodeOf, fail } from "../../../common/errors.ts";
import { readNamed } from "../../../common/files.ts";
import { fillTemplate } from "../../../contract/task/substitution.ts";
import type { Call } from "../../bind.ts";
import type { Context } from "../../context.ts";
import { pathInUpload } from "../../wire/upload-place.ts";
import type { VersionTask } from "../schema.ts";
import type { OpenVersion } from "./task.ts";

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

type Pair = Record<"key" | "cert", string>;

/**
 * Throws `ValueError` for a key and a certificate that clients could not be met with, naming the file
 * that is wrong: found out before a balancer that serves is told.
 */
function checkPair(pair: Pair, files: Pair): void {
  // What is empty a server takes without a word, and then fails each client.
  const cert = read(
    () => new X509Certificate(pair.cert),
    () => `${files.cert} is not a PEM certificate`,
  );
  const key = read(
    () => createPrivateKey(pair.key),
    () => `${files.key} is not a PEM private key without a passphrase`,
  );
  if (!cert.checkPrivateKey(key)) refuse(`${files.key} is not the key of ${files.cert}`);
  read(
    () => createSecureContext(pair),
    (error) => `${files.key} and ${files.cert} cannot be used: ${errorCodeOf(error)}`,
  );
}

/** What clients hold against a certificate that is accepted all the same, a line; empty is nothing. */
function remarkOnCertificate(cert: string, file: string, now: Date): string {
  const { validFromDate: from, validToDate: to } = new X509Certificate(cert);
  if (now < from)
    return `service.tls: ${file} is not valid before ${from.toISOString()}; clients refuse it until then\n`;
  if (now <= to) return "";
  return `service.tls: ${file} expired at ${to.toISOString()}; clients refuse it until an update brings another\n`;
}

function read<T>(open: () => T, problemOf: (error: unknown) => string): T {
  try {
    return open();
  } catch (error) {
    return refuse(problemOf(error));
  }
}

const refuse = (problem: string): never => fail("ValueError", `service.tls: ${problem}`);
