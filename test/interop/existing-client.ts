import { protocol } from "../../common/product.ts";
import { installPackage } from "../helpers/python.ts";

/** The clients that we check against: of each line the newest release. */
export const clients = [
  { line: "0.12", wanted: `${protocol.word}>=0.12,<0.13` },
  { line: "newest", wanted: protocol.word },
] as const;

/** Installs this version of the client; its `bin` folder. */
export const installClient = (version: string, signal: AbortSignal): Promise<string> =>
  installPackage(protocol.word, version, signal);
