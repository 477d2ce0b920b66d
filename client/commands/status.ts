import { fail } from "../../common/errors.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { workspaceOperations } from "../../contract/operations/workspaces.ts";
import type { ClusterStatusRecord } from "../../contract/records/clusters.ts";
import type { OptionsOf } from "../catalog.ts";
import { clusterForm, endpointForm } from "../output/clusters.ts";
import { ago, type Column, styleOfStatus } from "../rendering.ts";
import type { Client } from "../sdk.ts";
import { requireAll, sayNone } from "../selection.ts";
import { writeSshConfig } from "../ssh-config.ts";
import type { World } from "../world.ts";
import { answerJson, answerRows } from "./answers.ts";
import { autostopOf, underWayOf } from "./in-progress.ts";
import { watchable } from "./watch.ts";

type StatusOptions = OptionsOf<"status">;

/** `outrigger status`. */
export const status = watchable({ noun: "cluster" }, showStatus);

async function showStatus(
  world: World,
  names: readonly string[],
  options: StatusOptions,
): Promise<undefined> {
  if (options.endpoints || options.endpoint) return answerEndpoints(world, names, options);
  const client = await world.connect();
  const spent = world.json ? [] : listSpent(client);
  const rows = await client.callAndGet(clusterOperations.status, {
    cluster_names: names.length > 0 ? [...names] : null,
    refresh: options.refresh ? "FORCE" : "NONE",
    all_users: Boolean(options.allUsers || options.everyone || names.length > 0),
    include_credentials: !world.json,
    include_handle: options.ip ?? false,
    summary_response: !options.verbose,
  });
  await requireAll(world, names, rows);
  if (!world.json) writeSshConfig(world, rows);
  if (options.ip) return answerAddress(world, rows);
  answerRows(world, options, {
    form: clusterForm,
    rows,
    columns: columnsOf(world, options, rows),
    isWhole: options.verbose ?? false,
    whole: "-v",
    empty: sayNone(names, "No clusters. Launch one: outrigger launch -c dev 'echo hello'"),
  });
  if (world.json) return;
  const reasons = rows.flatMap(({ name, init_status_reason: why }) =>
    why ? [`${name} is INIT: ${why}`] : [],
  );
  for (const reason of reasons.slice(0, reasonsAtMost)) world.terminal.note(reason);
  for (const note of await spent) world.terminal.note(note);
}

const reasonsAtMost = 5;

/** What workspaces have spent that take no launches for it; a control plane of before does not tell. */
async function listSpent(client: Client): Promise<string[]> {
  const uses = await client.call(workspaceOperations.use, {}).catch(() => []);
  return uses.flatMap(({ spent }) => spent ?? []);
}

/** Cut where room is short, then left out. */
const givesAll = { least: 12, spare: true } as const;

const usualColumns = 80;

type StatusColumn = Column<ClusterStatusRecord>;

const user: StatusColumn = { title: "USER", text: (row) => row.user_name, spare: true };

const workspace: StatusColumn = {
  title: "WORKSPACE",
  text: (row) => row.workspace,
  spare: true,
};

const verbose: readonly StatusColumn[] = [
  { title: "LAST EVENT", text: (row) => row.last_event ?? "-", ...givesAll },
  { title: "COMMAND", text: (row) => row.last_creation_command ?? "-", ...givesAll },
];

function columnsOf(
  world: World,
  options: StatusOptions,
  rows: readonly ClusterStatusRecord[],
): StatusColumn[] {
  const now = world.now();
  const others = options.allUsers || options.everyone || options.verbose;
  const areSeveral = new Set(rows.map((row) => row.workspace)).size > 1;
  const isBusy = rows.some(({ lifecycle }) => lifecycle);
  const underWay: StatusColumn = {
    title: "UNDER WAY",
    text: (row) => underWayOf(row, now),
    least: world.terminal.columns < usualColumns ? 24 : 44,
    last: true,
  };
  return [
    { title: "NAME", text: (row) => row.name, least: 24 },
    ...(others ? [user] : []),
    { title: "STATUS", text: (row) => row.status, style: (row) => styleOfStatus(row.status) },
    ...(isBusy ? [underWay] : []),
    { title: "INFRA", text: infraOf, ...givesAll },
    {
      title: "RESOURCES",
      text: (row) => row.resources_str ?? "-",
      least: 18,
      ...(isBusy && { spare: true as const }),
    },
    { title: "AUTOSTOP", text: (row) => autostopOf(row, now), least: isBusy ? 8 : 21 },
    { title: "LAUNCHED", text: (row) => ago(row.launched_at, now), spare: true },
    ...(options.verbose || areSeveral ? [workspace] : []),
    ...(options.verbose ? verbose : []),
  ];
}

const infraOf = ({ cloud, region }: ClusterStatusRecord) =>
  [cloud?.toLowerCase(), region].filter(Boolean).join("/") || "-";

function answerAddress({ terminal }: World, rows: readonly ClusterStatusRecord[]): undefined {
  const [row] = rows;
  if (row === undefined || rows.length > 1)
    fail("UsageError", "--ip takes the name of one cluster");
  if (row.status !== "UP" && row.status !== "AUTOSTOPPING")
    fail("ClusterNotUpError", `${row.name} is ${row.status}, not UP`);
  const { stable_internal_external_ips: addresses } = (row.handle ?? {}) as {
    stable_internal_external_ips?: [string, string][] | null;
  };
  const [inside, outside] = addresses?.[0] ?? [];
  terminal.answer(outside ?? inside ?? fail("NotFoundError", `${row.name} has no address`));
}

async function answerEndpoints(
  world: World,
  names: readonly string[],
  { endpoint: port, fields }: StatusOptions,
): Promise<undefined> {
  const [cluster] = names;
  if (cluster === undefined || names.length > 1)
    fail("UsageError", "--endpoints takes the name of one cluster");
  const client = await world.connect();
  const input = { cluster, port: port ?? null };
  const found = await client.callAndGet(clusterOperations.endpoints, input);
  if (world.json) {
    const rows = Object.entries(found).map(([at, endpoint]) => ({ cluster, port: at, endpoint }));
    return answerJson(world, { ...(fields && { fields }) }, endpointForm, rows);
  }
  const lines = Object.entries(found).map(([at, address]) =>
    port ? address : `${at}: ${address}`,
  );
  if (lines.length === 0)
    fail("NotFoundError", `${cluster} exposes ${port ? `no port ${port}` : "no port"}`);
  world.terminal.answer(lines.join("\n"));
}
