import { basename } from "node:path";
import { fail } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import { parseGigabytes } from "../../contract/task/units.ts";
import type { VolumeDocument } from "../../contract/volume.ts";
import type { Context } from "../context.ts";
import type { KubeApi } from "../doors/kubernetes/api.ts";
import { claimFolder } from "../doors/kubernetes/exec.ts";
import type { Place, Volume } from "./schema.ts";

/** Volumes that are claims of Kubernetes: pods mount them where their path says. */

interface Claim {
  readonly status?: { readonly phase?: string };
}

const cloud = "kubernetes/";

/** The same document, with the context that it names, or else the current one. Throws where its pods could not use the claim. */
export async function inContext(
  { kubernetes }: Pick<Context, "kubernetes">,
  document: VolumeDocument,
): Promise<VolumeDocument> {
  const [, context = null] = document.infra?.split(/\/(.*)/) ?? [];
  const api = await kubernetes.api(context);
  const { namespace = api.namespace } = document.config;
  if (namespace !== api.namespace)
    fail("ValueError", `config.namespace: pods of ${api.context} are in ${api.namespace}`);
  return { ...document, infra: `${cloud}${api.context}` };
}

/** What is there already goes by its own name. */
export const pathOfClaim = ({ id, document }: Pick<Volume, "id" | "document">): string =>
  claimFolder(document.use_existing ? document.name : `${product.word}-${id}`);

/** Where the claim of a volume is. */
export function inKubernetes(
  { kubernetes, ssh }: Pick<Context, "kubernetes" | "ssh">,
  { document }: Pick<Volume, "document">,
  signal: AbortSignal,
): Place {
  const open = () => kubernetes.api(document.infra?.replace(cloud, "") ?? null);
  const pathIn = ({ namespace }: KubeApi, claim = "") =>
    `/api/v1/namespaces/${namespace}/persistentvolumeclaims${claim && `/${claim}`}`;
  const find = async (path: string) => {
    const api = await open();
    return api.read<Claim>(pathIn(api, basename(path)), signal);
  };
  return {
    async take(path, isExisting) {
      const api = await open();
      const name = basename(path);
      if (!isExisting)
        await api.send("POST", pathIn(api), claimOf(name, document, ssh.controlId), signal);
      else if ((await find(path)) === undefined)
        fail("NotFoundError", `there is no claim ${name} in namespace ${api.namespace}`);
      return path;
    },
    async problem(path) {
      const claim = await find(path);
      if (claim === undefined) return `there is no claim ${basename(path)} in ${document.infra}`;
      return claim.status?.phase === "Lost" ? `claim ${basename(path)} has lost its disk` : null;
    },
    async remove(path) {
      const api = await open();
      await api.send("DELETE", pathIn(api, basename(path)), undefined, signal);
    },
  };
}

function claimOf(
  name: string,
  { size = "", labels, config, ...volume }: VolumeDocument,
  controlId: string,
) {
  const { access_mode: mode = "ReadWriteOnce", storage_class_name: storageClassName } = config;
  const own = { [`${product.word}/control`]: controlId };
  return {
    ...{ apiVersion: "v1", kind: "PersistentVolumeClaim" },
    metadata: {
      name,
      labels: { ...labels, ...own },
      annotations: { [`${product.word}/volume`]: volume.name },
    },
    spec: {
      accessModes: [mode],
      ...(storageClassName !== undefined && { storageClassName }),
      resources: { requests: { storage: `${parseGigabytes(size)}Gi` } },
    },
  };
}
