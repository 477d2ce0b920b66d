import { stat } from "node:fs/promises";
import { settingName } from "../../../common/config.ts";
import { fail } from "../../../common/errors.ts";
import { ifMissing } from "../../../common/files.ts";
import { hintOf } from "../../../contract/spelling.ts";
import { type KubeApi, openKubeApi } from "./api.ts";
import { type KubeContexts, readContexts } from "./kubeconfig.ts";

/** The Kubernetes clusters that control uses. */
export interface KubeClusters {
  /** The contexts that may be used, the current one first. */
  names(): Promise<string[]>;
  /** The API of a context; of the current one where none is named. Throws `CloudError` for one that may not be used. */
  api(context: string | null): Promise<KubeApi>;
  /** Why there is none; undefined where there is one, or the kubeconfig cannot be read. */
  whyNone(): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Reads the kubeconfig when it is needed, and again once it has changed. */
export function openKubeClusters(file: string, allowed: readonly string[]): KubeClusters {
  let known: { readonly mtimeMs: number; readonly contexts: Promise<KubeContexts> } | undefined;
  const apis = new Map<string, KubeApi>();

  async function contexts(): Promise<KubeContexts> {
    const { mtimeMs } = await stat(file).catch(ifMissing({ mtimeMs: 0 }));
    if (known?.mtimeMs === mtimeMs) return known.contexts;
    // Connections that are in use end by themselves.
    apis.clear();
    known = { mtimeMs, contexts: readContexts(file) };
    return known.contexts;
  }

  async function names(): Promise<string[]> {
    const { current, all } = await contexts();
    const isAllowed = (name: string) =>
      allowed.includes("all") || (allowed.length === 0 ? name === current : allowed.includes(name));
    const there = all.map(({ name }) => name).filter(isAllowed);
    return there.sort((a, b) => Number(b === current) - Number(a === current));
  }

  return {
    names,
    async api(context) {
      const there = await names();
      const name = context ?? there[0] ?? fail("CloudError", noneHere(file));
      const { all } = await contexts();
      const found = there.includes(name) ? all.find((one) => one.name === name) : undefined;
      if (found === undefined)
        fail(
          "CloudError",
          `control may not use the Kubernetes context ${name}; ${hintOf(name, there, noneHere(file))}`,
        );
      const api = apis.get(name) ?? openKubeApi(found);
      apis.set(name, api);
      return api;
    },
    async whyNone() {
      const there = await names().catch(() => undefined);
      if (there === undefined || there.length > 0) return undefined;
      const isThere = await stat(file).catch(ifMissing(undefined));
      return isThere
        ? noneHere(file)
        : `there is no kubeconfig at ${file}; set KUBECONFIG or ${settingName("kubeconfig")} before control starts`;
    },
    close: async () => void (await Promise.all([...apis.values()].map((api) => api.close()))),
  };
}

const noneHere = (file: string): string =>
  `no context of ${file} may be used; see ${settingName("kubernetesContexts")}`;
