import { fail } from "../common/errors.ts";
import { readBootId } from "../common/process-tree.ts";
import { product } from "../common/product.ts";
import type { Health, NodeSettings } from "../contract/agent-shapes.ts";
import type { Agent } from "./context.ts";
import { lastSeq } from "./events.ts";
import { listActiveIds } from "./job-store.ts";
import { findSetting, type Journal, putSetting, transaction } from "./journal.ts";
import { listLiveParts } from "./part-store.ts";

const setting = "node";

/** What control told the node about itself, or undefined. */
export const findNode = (journal: Journal): NodeSettings | undefined =>
  findSetting<NodeSettings>(journal, setting);

/** As `findNode`; throws `ConflictError` before control told. */
export const getNode = (journal: Journal): NodeSettings =>
  findNode(journal) ??
  fail("ConflictError", "the node does not know its cluster yet; send PUT /node first");

/** Tells the node who it is; throws `ConflictError` when work of another identity still runs. */
export function configureNode({ journal, log }: Agent, node: NodeSettings): void {
  const before = findNode(journal);
  const isOther =
    before !== undefined && (before.clusterId !== node.clusterId || before.rank !== node.rank);
  const isBusy =
    listActiveIds(journal).length + listLiveParts(journal, before?.rank ?? 0).length > 0;
  if (isOther && isBusy)
    fail(
      "ConflictError",
      `the node works for cluster ${before.clusterName} as rank ${before.rank}; end its jobs first`,
    );
  transaction(journal, () => {
    if (before !== undefined && before.clusterId !== node.clusterId) forgetWork(journal);
    putSetting(journal, setting, node);
  });
  log.info({ cluster: node.clusterName, rank: node.rank }, "node configured");
}

/** Who the agent is. */
export const healthOf = ({ config, journal, startedAt }: Agent): Health => ({
  version: product.version,
  build: config.build,
  pid: process.pid,
  bootId: readBootId(),
  startedAt,
  node: findNode(journal) ?? null,
  lastSeq: lastSeq(journal),
});

/** Job ids are the head's: those of another cluster would be taken for this one's. */
const forgetWork = ({ db }: Journal): void =>
  db.exec("DELETE FROM jobs; DELETE FROM parts; DELETE FROM specs;");
