import type { Config } from "../config.ts";
import type { Logger } from "../log.ts";
import { localProvider } from "./local.ts";
import type { Provider } from "./provider.ts";

/** Every provider. To add one: its file, its line here. */
export function openProviders(config: Config, log: Logger): Provider[] {
  return [localProvider(config, log)];
}
