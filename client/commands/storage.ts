import type { OutputOf } from "../../common/operation.ts";
import { storageOperations as rows } from "../../contract/operations/storage.ts";
import { placeOf, storageForm } from "../output/storage.ts";
import { ago, type Column } from "../rendering.ts";
import { kindOf, type SelectionOptions } from "../selection.ts";
import type { World } from "../world.ts";
import { listing } from "./answers.ts";
import { deleteSelected } from "./directly.ts";

type Words = readonly string[];
type Storage = OutputOf<(typeof rows)["list"]>[number];

/** `outrigger storage ls`. */
export const list = listing({
  read: (client) => client.callAndGet(rows.list, {}),
  form: storageForm,
  columns: (now): Column<Storage>[] => [
    { title: "NAME", text: ({ name }) => name, least: 12 },
    { title: "STORE", text: ({ store }) => placeOf(store) },
    { title: "STATUS", text: ({ status }) => status },
    { title: "CREATED", text: ({ launched_at: at }) => ago(at, now) },
    { title: "LAST USE", text: ({ last_use: command }) => command, spare: true },
  ],
  empty: "No storage. Tasks make it: file_mounts with a name, a source and mode: COPY.",
});

/** `outrigger storage delete`. */
export const remove = (world: World, words: Words, options: SelectionOptions): Promise<undefined> =>
  deleteSelected(world, storages, words, options, (client, { name }) =>
    client.callAndGet(rows.delete, { name }),
  );

const storages = kindOf("storage", "storage ls", (client) => client.callAndGet(rows.list, {}));
