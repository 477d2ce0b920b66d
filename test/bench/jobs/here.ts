import { Readable } from "node:stream";
import { fail } from "../../../common/errors.ts";
import type { Operation } from "../../../common/operation.ts";
import type { Stream } from "../../../common/server.ts";
import { agentOperations } from "../../../contract/agent-api.ts";
import type { Agent } from "../../../control/doors/agent.ts";
import { nodeIdOf } from "../../../control/doors/node-id.ts";
import type { NodeState } from "../../../control/providers/provider.ts";
import { openFakeAgent, type UnservedAgent } from "../../helpers/fake-agent.ts";
import { aFakeNode } from "../../helpers/fake-node.ts";
import type { World } from "../../helpers/world.ts";

const names = new Map<Operation, string>(
  Object.entries(agentOperations).map(([name, row]) => [row, name]),
);

/** Has the machines of a world do nothing, and their agents be called without a connection. A job ends at once. */
export function useMachinesHere({ provider, ctx }: World): void {
  const nodes = new Map<string, { state: NodeState; agent: UnservedAgent }>();
  Object.assign(provider, {
    async create(cluster, rank) {
      const id = nodeIdOf(cluster, rank);
      if (nodes.has(id)) return;
      const agent = openFakeAgent(aFakeNode(id, ""));
      agent.node.onCall = (name) => {
        if (name === "submit") setImmediate(() => agent.end(1, "SUCCEEDED"));
      };
      nodes.set(id, { state: { id, rank, state: "running", address: "10.0.0.1" }, agent });
    },
    list: async (cluster) => [nodes.get(nodeIdOf(cluster, 0))?.state ?? []].flat(),
    async destroy(id) {
      nodes.delete(id);
    },
  } satisfies Partial<World["provider"]>);
  const find = (id: string) => () => nodes.get(id)?.agent;
  ctx.agent = (cluster, rank) => agentHere(find(nodeIdOf(cluster, rank)));
}

function agentHere(find: () => UnservedAgent | undefined): Agent {
  async function run(row: Operation, given: object, signal: AbortSignal): Promise<unknown> {
    const bound = find()?.bound as Record<string, Run> | undefined;
    const name = names.get(row) ?? "";
    const { body, query, path } = row.input;
    const input = { ...body?.parse(given), ...query?.parse(given), ...path?.parse(given) };
    if (bound?.[name] === undefined) return fail("UnreachableError", "its machine is gone");
    return bound[name](input, { signal });
  }
  return {
    call: async (row, input, { signal = new AbortController().signal } = {}) =>
      (await run(row, input as object, signal)) as never,
    async open(row, input, signal) {
      const { content, headers = {} } = (await run(row, input as object, signal)) as Stream;
      const lines = Readable.from(content, { objectMode: false });
      signal.addEventListener("abort", () => lines.destroy(), { once: true });
      return { headers, body: lines };
    },
  };
}

type Run = (input: object, exchange: { readonly signal: AbortSignal }) => unknown;
