import * as z from "zod";
import { product } from "../../../common/product.ts";
import { shellWord } from "../../../common/shell-word.ts";
import { runOn } from "./exec.ts";
import type { ReachedHost } from "./reached-host.ts";

/** What a host says about the node that it is, for a control plane that has lost its database. */
const Occupant = z.object({
  /** Which control plane it belongs to. */
  control: z.string(),
  clusterId: z.string(),
  rank: z.int().min(0),
  cluster: z.object({
    name: z.string(),
    nodes: z.int().positive(),
    offer: z.object({
      provider: z.string(),
      infra: z.string(),
      region: z.string().nullable(),
      zone: z.string().nullable(),
      instanceType: z.string(),
      cpus: z.number(),
      memoryGb: z.number(),
      accelerators: z.object({ name: z.string(), count: z.number() }).nullable(),
      dollarsPerHour: z.number(),
    }),
  }),
});
export type Occupant = z.output<typeof Occupant>;

const folder = `~/.${product.word}`;
/** Goes with the rest of the agent's folder when a node is removed. */
const file = `${folder}/agent/cluster.json`;
const lookMs = 5_000;

/** Bash that writes down which node a host is, unless it is written already. */
export const writeOccupant = (occupant: Occupant): string => `
mkdir -p -m 700 ${folder} ${folder}/agent
if [ ! -e ${file} ]; then
  printf %s ${shellWord(JSON.stringify(occupant))} > ${file}.new
  mv ${file}.new ${file}
fi`;

/** Which node a host is, and whether that is on; undefined where it is none, or does not say. */
export async function findOccupant(
  { ssh, target }: ReachedHost,
  signal?: AbortSignal,
): Promise<(Occupant & { readonly state: "running" | "stopped" }) | undefined> {
  const text = `cat ${file} 2> /dev/null && { [ ! -e ${folder}/stopped ] || printf '\\nstopped'; } || true`;
  const script = { what: "looking for a node", text, timeoutMs: lookMs };
  const [written = "", stopped] = (await runOn(ssh, target, script, signal)).split("\n");
  const parsed = Occupant.safeParse(parseOrNothing(written));
  return parsed.success
    ? { ...parsed.data, state: stopped === undefined ? "running" : "stopped" }
    : undefined;
}

function parseOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
