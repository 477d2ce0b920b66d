import { findCommit } from "../../common/commit.ts";
import { product, protocol } from "../../common/product.ts";
import { infoForm } from "../output/control.ts";
import { type Column, sheet, styleOfStatus, table } from "../rendering.ts";
import type { Health } from "../sdk.ts";
import type { Run } from "../world.ts";
import { answerOne, type OutputOptions } from "./answers.ts";

/** `outrigger api info`. */
export const info: Run<OutputOptions> = async (world, _operands, options) => {
  const { terminal, settings } = world;
  const { endpoint } = settings;
  const client = await world.connect();
  const health = await client.health();
  if (world.json) return answerOne(world, options, infoForm, { endpoint, ...health });
  const { status, user } = health;
  const style = styleOfStatus(status);
  const facts = [
    ["Endpoint", endpoint],
    ["Health", style === undefined ? status : terminal.paint(style, status)],
    ["User", user ? `${user.name ?? "-"} (${user.id})` : settings.userName],
  ] as const;
  const { paint, columns: width } = terminal;
  terminal.answer(sheet(facts, paint));
  terminal.answer(`\n${table(columns, versionsOf(health), { width, paint })}`);
};

interface Versions {
  readonly of: string;
  readonly control: string;
  readonly client: string;
}

const versionsOf = ({ version, release, commit, api_version: api }: Health): Versions[] => [
  { of: "Release", control: release ?? "-", client: product.version },
  { of: "Commit", control: shortened(commit), client: shortened(findCommit()) },
  { of: "Protocol", control: version, client: protocol.version },
  { of: "API version", control: api, client: String(protocol.apiVersion) },
];

const shortened = (commit = "") => commit.slice(0, 12) || "-";

const columns: readonly Column<Versions>[] = [
  { title: "VERSIONS", text: ({ of }) => of },
  { title: "CONTROL PLANE", text: ({ control }) => control, least: 13 },
  { title: "THIS CLIENT", text: ({ client }) => client },
];
