import { execFileSync } from "node:child_process";

/** A key and a certificate for this machine, signed by itself, which says this name. */
export function aPair(name = "replica"): { key: string; cert: string } {
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc"];
  const out = ["-keyout", "-", "-out", "-", "-subj", `/CN=${name}`];
  const names = ["-addext", "subjectAltName=IP:127.0.0.1", "-days", "1"];
  const text = execFileSync("openssl", ["req", "-x509", ...curve, ...out, ...names], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [key = "", cert = ""] = text.split(/(?=-----BEGIN CERTIFICATE)/);
  return { key, cert };
}
