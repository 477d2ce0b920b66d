import type { Seal } from "../../common/seal.ts";
import type { Config } from "../config.ts";
import type { KubeClusters } from "../doors/kubernetes/clusters.ts";
import type { Logger } from "../log.ts";
import type { HostBook } from "../ssh-pools/schema.ts";
import { kubernetesProvider } from "./kubernetes/kubernetes.ts";
import { localProvider } from "./local.ts";
import type { Provider } from "./provider.ts";
import { localLogin } from "./slurm/login.ts";
import type { Site } from "./slurm/site.ts";
import { slurmProvider } from "./slurm/slurm.ts";
import { type LoginWays, sshLogin } from "./slurm/ssh-login.ts";
import { sshProvider, type Ways } from "./ssh.ts";

type AllWays = Ways & LoginWays;

/** Every provider. To add one: its file, its line here. */
export function openProviders(
  config: Config,
  log: Logger,
  {
    book,
    ways,
    clusters,
    seal,
    epoch,
    wake,
  }: {
    book: HostBook;
    ways: AllWays;
    clusters: KubeClusters;
    seal: Seal;
    epoch: number;
    /** Has a cluster looked at soon. */
    wake: (clusterId: string) => void;
  },
): Provider[] {
  const pods = {
    ...{ ...ways, clusters, seal, wake },
    ...{ image: config.kubernetesImage, ports: config.kubernetesPorts },
    ingressClass: config.kubernetesIngressClass,
    runtimeImage: config.kubernetesRuntimeImage,
    graceAtMost: config.kubernetesGraceSeconds,
    provisionMs: config.kubernetesProvisionSeconds * 1_000,
  };
  return [
    localProvider(config, log),
    sshProvider(book, ways, log),
    kubernetesProvider(pods, log),
    ...(config.slurm.length === 0 ? [] : [slurmProvider(sitesOf(config, { ...ways, epoch }), log)]),
  ];
}

const sitesOf = (config: Config, ways: AllWays & Pick<Site, "epoch">): Site[] =>
  config.slurm.map(({ name, login }) => ({
    ...{ ...ways, name, scratch: config.slurmScratch },
    login: login === "local" ? localLogin(config) : sshLogin(login, ways, config.slurmConf),
  }));
