import { parse } from "yaml";
import { fail } from "../../common/errors.ts";
import { volumeOperations as rows } from "../../contract/operations/volumes.ts";
import type { VolumeRecord } from "../../contract/records/volumes.ts";
import { readVolume } from "../../contract/volume.ts";
import { entrypointOf } from "../entrypoint.ts";
import { placeOf, volumeForm } from "../output/volumes.ts";
import { ago, type Column } from "../rendering.ts";
import { kindOf, type SelectionOptions } from "../selection.ts";
import type { World } from "../world.ts";
import { listing } from "./answers.ts";
import { carryOut } from "./carry-out.ts";
import { deleteSelected } from "./directly.ts";

type Words = readonly string[];

/** `outrigger volumes ls`. */
export const list = listing({
  read: (client, { refresh = false }: { refresh?: boolean }) =>
    client.callAndGet(rows.list, { refresh: String(refresh) }),
  form: volumeForm,
  columns: (now): Column<VolumeRecord>[] => [
    { title: "NAME", text: ({ name }) => name, least: 12 },
    { title: "TYPE", text: ({ type }) => type },
    { title: "INFRA", text: (row) => placeOf(row) ?? "-" },
    { title: "STATUS", text: ({ status }) => status ?? "-" },
    { title: "USED BY", text: (row) => row.usedby_clusters.join(", ") || "-", least: 8 },
    { title: "CREATED", text: ({ launched_at: at }) => ago(at, now), spare: true },
    { title: "PROBLEM", text: ({ error_message: why }) => why ?? "-", least: 12, spare: true },
  ],
  empty: "No volumes. Create one: outrigger volumes apply volume.yaml",
});

const absent = null as never;

/** `outrigger volumes apply`. */
export async function apply(
  world: World,
  words: Words,
  { name: other }: { name?: string },
): Promise<undefined> {
  const { text } = await entrypointOf(world, words);
  const document = readVolume({ ...fieldsOf(text), ...(other !== undefined && { name: other }) });
  const { name, type: volume_type, infra = "", size = absent, ...others } = document;
  const [cloud = "", region = absent, zone = absent] = infra.split("/");
  const place = { cloud, region, zone };
  const input = { name, volume_type, ...place, size, ...others, creation_yaml: text };
  await carryOut(world, rows.apply, input, { title: `Creating volume ${name}`, name });
  return undefined;
}

function fieldsOf(text: string): object {
  try {
    const fields: unknown = parse(text);
    if (typeof fields === "object" && fields !== null) return fields;
  } catch (error) {
    fail("ValueError", `the file is not YAML: ${(error as Error).message}`);
  }
  return fail("ValueError", "the file must have the fields of a volume, such as `name` and `type`");
}

/** `outrigger volumes delete`. */
export const remove = (
  world: World,
  words: Words,
  { purge = false, ...options }: SelectionOptions & { purge?: boolean },
): Promise<undefined> =>
  deleteSelected(world, volumes, words, options, (client, { name }) =>
    client.callAndGet(rows.delete, { names: [name], purge }),
  );

const volumes = kindOf(
  "volume",
  "volumes ls",
  (client) => client.callAndGet(rows.list, {}),
  "VolumeNotFoundError",
);
