import type { Config } from "../config.ts";
import type { Logger } from "../log.ts";
import type { HostBook } from "../ssh-pools/schema.ts";
import { localProvider } from "./local.ts";
import type { Provider } from "./provider.ts";
import { sshProvider, type Ways } from "./ssh.ts";

/** Every provider. To add one: its file, its line here. */
export function openProviders(
  config: Config,
  log: Logger,
  { book, ways }: { book: HostBook; ways: Ways },
): Provider[] {
  return [localProvider(config, log), sshProvider(book, ways, log)];
}
