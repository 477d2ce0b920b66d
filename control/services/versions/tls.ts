import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { errorCodeOf, fail } from "../../../common/errors.ts";

type Pair = Record<"key" | "cert", string>;

/**
 * Throws `ValueError` for a key and a certificate that clients could not be met with, naming the file
 * that is wrong: found out before a balancer that serves is told.
 */
export function checkPair(pair: Pair, files: Pair): void {
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
export function remarkOnCertificate(cert: string, file: string, now: Date): string {
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
