import { product, protocol } from "../../common/product.ts";
import { findClientVersion, type Headers, isExistingClient } from "./versions.ts";

/** Who reads a message. */
export interface Reader {
  /** The program on the reader's command line. */
  readonly program: string;
  /** API number of the client, null when it did not say. */
  readonly clientApi: number | null;
}

/** The reader of what answers a request with these headers. */
export const readerOf = (headers: Headers): Reader => ({
  program: isExistingClient(headers) ? protocol.requestPrefix : product.word,
  clientApi: findClientVersion(headers) ?? null,
});

/**
 * A message of ours for its reader. For existing clients it names their commands, where they have them,
 * and no lines and columns: these clients write a tsend the request again before they send it.
 */
export function wordedFor({ program, clientApi }: Reader, message: string): string {
  if (program === product.word) return message;
  return message
    .replace(position, "")
    .replace(command, (ours, rest: string) =>
      isTheirs(rest, clientApi ?? 0) ? `${program} ${rest}` : ours,
    );
}

const position = /^line \d+, column \d+: /gm;
const command = new RegExp(`\\b${product.word} ([a-z][^\\n;,\`]*)`, "g");

const theirCommands =
  /^(launch|exec|start|stop|down|autostop|status|queue|cancel|logs|jobs (launch|queue|cancel|logs|pool)|storage|check|cost-report|serve|ssh (up|down)|api (cancel|logs|status))\b/;
const ourOptions = /--(skip-hooks|cancel-stop|force)\b/;
const hookLogsSince = 52;

const isTheirs = (rest: string, clientApi: number): boolean =>
  theirCommands.test(rest) &&
  !ourOptions.test(rest) &&
  (clientApi >= hookLogsSince || !rest.includes("--hook"));
