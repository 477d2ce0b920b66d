import { readFileSync, statSync } from "node:fs";
import { createServer, type RequestListener, type Server, type ServerOptions } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createSecureContext, Server as TlsServer } from "node:tls";
import { AppError } from "../../common/errors.ts";
import { type Loop, startLoop } from "../../common/loop.ts";
import type { Config } from "../config.ts";
import type { Context } from "../context.ts";

type Files = Pick<Config, "tlsCertFile" | "tlsKeyFile">;

const lookEveryMs = 60_000;

/** A server of HTTP, or of HTTPS where the settings have a certificate. Throws `ConfigError`. */
export const createListener = (
  files: Files,
  options: ServerOptions,
  listener: RequestListener,
): Server =>
  files.tlsCertFile === undefined
    ? createServer(options, listener)
    : createTlsServer({ ...options, ...readCertificate(files) }, listener);

/** The certificate and its key; throws `ConfigError` for files that are not one. */
function readCertificate({ tlsCertFile: certFile = "", tlsKeyFile: keyFile = "" }: Files) {
  try {
    const pair = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    createSecureContext(pair);
    return pair;
  } catch (error) {
    const why = (error as Error).message;
    throw new AppError(
      "ConfigError",
      `${certFile} and ${keyFile} cannot be used: ${why}`,
      {},
      error,
    );
  }
}

/** Looks for another certificate in the same files: true where it serves from now on. */
export type Renew = () => boolean;

/** Serves a renewed certificate to new connections; throws `ConfigError` and keeps the old one if it is bad. */
export function openRenewal(files: Files, server: Server): Renew {
  const stamp = () =>
    [files.tlsCertFile, files.tlsKeyFile].map((file = "") => statSync(file).mtimeMs).join();
  let seen = stamp();
  return () => {
    const now = stamp();
    if (now === seen || !(server instanceof TlsServer)) return false;
    server.setSecureContext(readCertificate(files));
    seen = now;
    return true;
  };
}

/** Looks every minute, as certificates are renewed while control runs. */
export function startRenewals({ config, log }: Context, server: Server): Loop {
  const renew = openRenewal(config, server);
  return startLoop(
    lookEveryMs,
    async () => {
      if (renew()) log.info("serves a renewed certificate");
    },
    (error) => log.warn({ err: error }, "renewed certificate not used"),
  );
}
