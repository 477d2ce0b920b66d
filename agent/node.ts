import { rmSync } from "node:fs";
import { fail } from "../common/errors.ts";
import { readBootId } from "../common/process-tree.ts";
import { product } from "../common/product.ts";
import type { Health, NodeSettings } from "../contract/agent-shapes.ts";
import type { Agent } from "./context.ts";
import { lastSeq } from "./events.ts";
import { hooksFolderOf, lifecyclesFolderOf } from "./folders.ts";
import { listLiveParts } from "./jobs/part-store.ts";
import { listActiveIds } from "./jobs/store.ts";
import {
  findSetting,
  type Journal,
  putSetting,
  type Rebuilt,
  rebuiltSetting,
  transaction,
} from "./journal.ts";
import { removeLease } from "./lease-file.ts";
import type { LifecycleRow } from "./lifecycles/row.ts";
import { findHooksVersion, findOpenLifecycle, listUnsettled } from "./lifecycles/store.ts";

const setting = "node";

/** What control told the node about itself, or undefined. */
export const findNode = (journal: Journal): NodeSettings | undefined =>
  findSetting<NodeSettings>(journal, setting);

/** As `findNode`; throws `UnreachableError` before control has told it. */
export const getNode = (journal: Journal): NodeSettings =>
  findNode(journal) ??
  fail("UnreachableError", "the node has not been told its cluster yet; send PUT /node first");

/** Tells the node who it is; throws `ConflictError` when work of another identity still runs. */
export function configureNode(agent: Agent, node: NodeSettings): void {
  const { journal, log } = agent;
  const before = findNode(journal);
  const isOther =
    before !== undefined && (before.clusterId !== node.clusterId || before.rank !== node.rank);
  if (isOther && isBusy(agent, before))
    fail(
      "ConflictError",
      `the node works for cluster ${before.clusterName} as rank ${before.rank}; end its jobs and hooks first`,
    );
  const isNew = before !== undefined && before.clusterId !== node.clusterId;
  // Before the node is another cluster's: that one may have none. Nothing of the old one runs any more.
  if (isNew) forgetLease(agent);
  transaction(journal, () => {
    if (isNew) forgetWork(agent);
    putSetting(journal, setting, node);
  });
  if (isNew) forgetHooks(agent);
  log.info({ cluster: node.clusterName, rank: node.rank }, "node configured");
}

/** Whether something runs on the node, or is about to; what is READY waits only to go. */
const isBusy = (agent: Agent, { rank }: NodeSettings): boolean =>
  listActiveIds(agent.journal).length + listLiveParts(agent.journal, rank).length > 0 ||
  listUnsettled(agent).some(
    ({ status, runs }) =>
      status === "HOOKS" || status === "JOBS" || runs.some((run) => run.status === "RUNNING"),
  );

/** Who the agent is. */
export function healthOf(agent: Agent): Health {
  const { config, journal, startedAt } = agent;
  const open = findOpenLifecycle(agent);
  return {
    version: product.version,
    build: config.build,
    pid: process.pid,
    bootId: readBootId(),
    startedAt,
    node: findNode(journal) ?? null,
    hooksVersion: findHooksVersion(journal),
    lifecycle: open === undefined ? null : pickShort(open),
    lastSeq: lastSeq(journal),
    rebuilt: findSetting<Rebuilt>(journal, rebuiltSetting) ?? null,
  };
}

const pickShort = ({ id, cause, events, status }: LifecycleRow): Health["lifecycle"] => ({
  ...{ id, cause, events, status },
});

/** Job ids are the head's: those of another cluster would be taken for this one's. */
function forgetWork({ journal, unsaved }: Agent): void {
  unsaved.clear();
  for (const table of ["jobs", "parts", "specs", "lifecycles", "hook_set"])
    journal.db.exec(`DELETE FROM ${table}`);
}

function forgetLease(agent: Agent): void {
  removeLease(agent.config);
  agent.lease = undefined;
}

/** What hooks of another cluster wrote is nobody's any more. */
function forgetHooks(agent: Agent): void {
  for (const folder of [lifecyclesFolderOf(agent), hooksFolderOf(agent)])
    rmSync(folder, { recursive: true, force: true });
}
