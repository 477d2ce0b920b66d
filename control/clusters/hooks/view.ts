import { type Hook, hookEvents, secondsOf } from "../../../contract/hooks.ts";
import type { HookRecord } from "../../../contract/records/clusters.ts";
import type { Ground } from "../../ground.ts";
import type { Provider } from "../../providers/provider.ts";
import { withoutValues } from "../../task.ts";
import type { Cluster } from "../schema.ts";
import { type KeptHooks, noneKept, openHooks } from "./kept.ts";
import { listHooks } from "./store.ts";
import { entriesOf } from "./told.ts";

/** What people see of the hooks that a cluster has. */

const shownAtMost = 80;

type HookedCluster = Pick<Cluster, "id" | "autostop" | "hooksVersion">;

/** `hooks: 3 (stop, preemption, down), kept`; nothing where there are none. */
export function hooksLine(hooks: readonly Hook[], isKept: boolean): string {
  if (hooks.length === 0) return "";
  const events = hookEvents.filter((event) => hooks.some((hook) => hook.events.includes(event)));
  return `hooks: ${hooks.length} (${events.join(", ")})${isKept ? ", kept" : ""}\n`;
}

/** A line about preemption hooks that may take longer than a provider gives them; else nothing. */
export function remarkOnNotice(
  { name, noticeSeconds }: Provider,
  hooks: readonly Hook[] = [],
  notice = noticeSeconds,
): string {
  const seconds = secondsOf(hooks, "preemption");
  if (notice === undefined || seconds <= notice) return "";
  return (
    `warning: the preemption hooks may take ${seconds} s in total, but ${name} takes a node away ` +
    `${notice} s after its notice; hooks that take longer are cut off\n`
  );
}

/** What tells of the hooks of these clusters. */
export async function openHookView(
  ctx: Ground,
  clusters: readonly HookedCluster[],
): Promise<(cluster: HookedCluster) => HookRecord[]> {
  const withList = clusters.filter(({ hooksVersion }) => hooksVersion !== null);
  const ids = withList.map(({ id }) => id);
  const sealed = ids.length > 0 ? await listHooks(ctx.db, ids) : new Map<string, Uint8Array>();
  return (cluster) => {
    const own = sealed.get(cluster.id);
    return hookRecords(cluster, own === undefined ? noneKept : openHooks(ctx, own));
  };
}

/** The hooks of a cluster in their order, as `/status` shows them. */
export const hookRecords = (
  cluster: Pick<Cluster, "autostop">,
  { hooks, secrets }: Pick<KeptHooks, "hooks" | "secrets">,
): HookRecord[] =>
  entriesOf(hooks, cluster).map(({ run, events, timeoutSeconds }, index) => ({
    events: [...events],
    timeout: timeoutSeconds,
    run: firstLineOf(withoutValues(run, secrets)),
    ...(index === 0 && cluster.autostop?.hook && { is_legacy: true }),
  }));

const firstLineOf = (text: string): string =>
  [...(text.trim().split("\n")[0] ?? "")].slice(0, shownAtMost).join("");
