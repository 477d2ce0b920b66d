import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type Lab, labImage, openLab } from "../helpers/kubernetes.ts";
import { startControl, type TestControl } from "../helpers/programs.ts";

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/** Packing Node.js takes seconds; the same pack serves all tests. */
const packed = join(import.meta.dirname, "../../node_modules/.cache/bundles");

/** A control plane that launches into a namespace of its own. */
export async function startKubeControl(
  t: Cleaner,
  env: Readonly<Record<string, string>> = {},
): Promise<Lab & { readonly control: TestControl }> {
  const lab = await openLab(t);
  const settings = { OUTRIGGER_KUBECONFIG: lab.kubeconfig, OUTRIGGER_KUBERNETES_IMAGE: labImage };
  const control = await startControl(t, { env: { ...settings, ...env } });
  mkdirSync(packed, { recursive: true });
  symlinkSync(packed, join(control.home, "control/bundles"));
  return { ...lab, control };
}

/** A task for pods. */
export const aPodTask = (run: string, more: object = {}): string =>
  JSON.stringify({ run, resources: { infra: "k8s", cpus: 0.5, memory: 1 }, ...more });
