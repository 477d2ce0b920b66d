import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** Where a certificate and its key lie. */
export interface CertificateFiles {
  readonly tlsCertFile: string;
  readonly tlsKeyFile: string;
}

/** Makes a certificate of this name that vouches for itself, in the place of one that is there. */
export function writeCertificate(folder: string, name: string): CertificateFiles {
  const files = { tlsCertFile: join(folder, "tls.crt"), tlsKeyFile: join(folder, "tls.key") };
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const named = ["-subj", `/CN=${name}`, "-addext", `subjectAltName=DNS:${name}`];
  const out = ["-keyout", files.tlsKeyFile, "-out", files.tlsCertFile];
  execFileSync("openssl", ["req", "-x509", ...curve, ...named, ...out], { stdio: "pipe" });
  return files;
}
