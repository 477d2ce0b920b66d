import { AgentSettings } from "../../agent/config.ts";
import { settingName } from "../../common/config.ts";
import { product } from "../../common/product.ts";
import {
  clientVariables,
  hookVariables,
  internalVariables,
  replicaVariables,
  taskVariables,
} from "../../contract/variables.ts";
import { BalancerSettings } from "../../control/balancer/config.ts";
import { Settings } from "../../control/config.ts";
import { sidecarSettings, variableOf } from "../../sidecar/config.ts";

const prefix = `${product.word}_`.toUpperCase();
const ownTables = [clientVariables, taskVariables, replicaVariables, hookVariables];
const shapes = [Settings, AgentSettings, BalancerSettings];

/** Every variable that one of our programs knows, which the client cannot import from them, by the name after the prefix. */
export function knownVariables(): string[] {
  const settings = [
    ...shapes.flatMap(({ shape }) => Object.keys(shape).map(settingName)),
    ...Object.keys(sidecarSettings).map(variableOf),
  ].filter((name) => name.startsWith(prefix));
  const suffixes = settings.map((name) => name.slice(prefix.length));
  const own = ownTables.flatMap((table) => Object.keys(table));
  return [...new Set([...own, ...internalVariables, ...suffixes])].sort();
}
