import type * as z from "zod";
import { AgentSettings } from "../../agent/config.ts";
import { settingName } from "../../common/config.ts";
import { envNames } from "../../common/product.ts";
import {
  clientVariables,
  managedJobVariables,
  replicaVariables,
  taskVariables,
} from "../../contract/variables.ts";
import { BalancerSettings } from "../../control/balancer/config.ts";
import { Settings } from "../../control/config.ts";
import {
  flagOf,
  defaultOf as sidecarDefaultOf,
  sidecarSettings,
  variableOf,
} from "../../sidecar/config.ts";
import { code, table } from "./markdown.ts";
import type { Parts } from "./parts.ts";

/** Every setting of every program. */
export const settingsParts: Parts = {
  control: () => settingsTable(Settings),
  agent: () => settingsTable(AgentSettings),
  sidecar: () => sidecarTable,
  balancer: () => settingsTable(BalancerSettings),
  clients: () => variablesTable(clientVariables),
  tasks: () => variablesTable({ ...taskVariables, ...managedJobVariables, ...replicaVariables }),
};

const variablesTable = (variables: Readonly<Record<string, string>>): string =>
  table(
    ["Variable", "Means"],
    Object.entries(variables).map(([suffix, means]) => [
      code(envNames(suffix)[0] ?? suffix),
      means,
    ]),
  );

const sidecarTable: string = table(
  ["Variable", "Flag", "Default", "Means"],
  Object.entries(sidecarSettings).map(([name, { means }]) => [
    code(variableOf(name)),
    code(`--${flagOf(name)}`),
    sidecarDefaultOf(name) ? code(sidecarDefaultOf(name).slice(2, -1)) : "–",
    means,
  ]),
);

const settingsTable = (settings: z.ZodObject): string =>
  table(
    ["Variable", "Default", "Means"],
    Object.entries(settings.shape).map(([field, shape]) => [
      code(settingName(field)),
      defaultOf(field, shape as z.ZodType),
      (shape as z.ZodType).description ?? "",
    ]),
  );

/** The home is shown as people write it, not as it is on the machine that made the page. */
function defaultOf(field: string, shape: z.ZodType): string {
  if (field === "home") return code("~/.outrigger");
  const value = shape.safeParse(undefined).data;
  return value === undefined ? "–" : code(String(value));
}
