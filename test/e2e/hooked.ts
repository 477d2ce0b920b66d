import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HookEvent } from "../../contract/hooks.ts";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { until } from "../helpers/agent.ts";
import type { TestControl } from "../helpers/programs.ts";
import { clusterOf, type Followed, type TestCluster } from "./cluster.ts";

/** A cluster whose hooks leave a line each time that one begins. */
export interface HookedCluster extends TestCluster {
  /** An entry of `config.hooks` that leaves `<label> <event>`, then does more. */
  hook(label: string, more?: { does?: string; events?: HookEvent[]; timeout?: number }): object;
  /** Where hooks leave their lines. */
  readonly left: string;
  /** What a hook does that ends once `open` was called. */
  readonly gated: string;
  open(): void;
  shut(): void;
  /** The lines that were left since the last time, in their order. */
  ran(): string[];
  /** Waits until this line is among them. */
  untilRan(line: string): Promise<void>;
  /** Asks for a stop or teardown; the id of the request. */
  begin(what: "stop" | "down"): Promise<string>;
  /** What `/hook_logs` has. */
  hookLog(event?: HookEvent, follow?: boolean): Promise<Followed>;
  /** Everything that happened to it, oldest first. */
  events(): Promise<string[]>;
  /** The folder that is a node of it. */
  nodeHome(rank?: number): Promise<string>;
}

/** As `clusterOf`. */
export function hookedCluster(control: TestControl, name: string): HookedCluster {
  const { client, home } = control;
  const of = { cluster_name: name };
  const left = join(home, `${name}.ran`);
  const gate = join(home, `${name}.gate`);
  const read = () => (existsSync(left) ? readFileSync(left, "utf8").split("\n").slice(0, -1) : []);
  let seen = 0;
  return {
    ...clusterOf(control, name),
    left,
    gated: `until [ -e ${gate} ]; do sleep 0.05; done`,
    hook: (label, { does = ":", ...more } = {}) => ({
      run: `echo "${label} $HOOK_EVENT" >> ${left}\n${does}`,
      ...more,
    }),
    open: () => writeFileSync(gate, ""),
    shut: () => rmSync(gate),
    ran() {
      const lines = read().slice(seen);
      seen += lines.length;
      return lines;
    },
    async untilRan(line) {
      await until(() => read().slice(seen).includes(line) || undefined);
    },
    begin: (what) => client.call(rows[what], of),
    async hookLog(event, follow = true) {
      const chunks: Buffer[] = [];
      const sink = { write: (bytes: Buffer) => void chunks.push(bytes), control() {} };
      const input = { ...of, event: event ?? null, follow };
      const code = await client.callAndStream(rows.hookLogs, input, sink);
      return { code, text: Buffer.concat(chunks).toString() };
    },
    async events() {
      const kinds = ["STATUS_CHANGE", "DEBUG"];
      const asked = kinds.map((event_type) =>
        client.callAndGet(rows.clusterEvents, { ...of, event_type }),
      );
      return (await Promise.all(asked)).flat().map(String);
    },
    async nodeHome(rank = 0) {
      const [found] = await client.callAndGet(rows.status, { cluster_names: [name] });
      return join(home, "nodes", `${found?.cluster_hash}-${rank}`);
    },
  };
}

/** The text of a task with hooks. */
export const withHooks = (hooks: readonly object[], more: object = {}): string =>
  JSON.stringify({ run: "sleep 1000", config: { hooks }, ...more });
