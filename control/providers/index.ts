import { join } from "node:path";
import type { Config } from "../config.ts";
import type { KubeClusters } from "../doors/kubernetes/clusters.ts";
import type { Logger } from "../log.ts";
import type { HostBook } from "../ssh-pools/schema.ts";
import { kubernetesProvider } from "./kubernetes/kubernetes.ts";
import { localProvider } from "./local.ts";
import type { Provider } from "./provider.ts";
import { localLogin } from "./slurm/login.ts";
import { slurmProvider } from "./slurm/slurm.ts";
import { sshProvider, type Ways } from "./ssh.ts";

/** Every provider. To add one: its file, its line here. */
export function openProviders(
  config: Config,
  log: Logger,
  { book, ways, clusters }: { book: HostBook; ways: Ways; clusters: KubeClusters },
): Provider[] {
  const pods = {
    ...{ ...ways, clusters },
    image: config.kubernetesImage,
    graceAtMost: config.kubernetesGraceSeconds,
    provisionMs: config.kubernetesProvisionSeconds * 1_000,
  };
  const site = {
    ...{ name: "local", login: localLogin(config), folder: join(config.home, "slurm") },
    ...{ scratch: config.slurmScratch, controlId: ways.controlId },
  };
  return [
    localProvider(config, log),
    sshProvider(book, ways, log),
    kubernetesProvider(pods, log),
    ...(config.slurm === "local" ? [slurmProvider(site)] : []),
  ];
}
