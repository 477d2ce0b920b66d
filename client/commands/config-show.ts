import { Secret } from "../../common/secret.ts";
import type { Command } from "../catalog.ts";
import { settingForm } from "../output/configuration.ts";
import type { Column } from "../rendering.ts";
import type { Origin, SettingName } from "../settings.ts";
import { answerRows } from "./answers.ts";

interface SettingRow {
  readonly name: string;
  readonly value: string | null;
  readonly origin: Origin;
}

/** `outrigger config show`. */
export const show: Command<"config show"> = async (world, _operands, options) => {
  const { settings } = world;
  const rows = (Object.entries(settings.origins) as [SettingName, Origin][]).map(
    ([field, origin]): SettingRow => ({
      name: field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value: shown(settings[field]),
      origin,
    }),
  );
  const shownColumns = options.origin ? [...columns, originColumn] : columns;
  answerRows(world, options, {
    form: settingForm,
    rows,
    columns: shownColumns,
    isWhole: true,
    empty: "",
  });
};

const shown = (value: string | Secret | undefined): string | null =>
  value instanceof Secret ? "[secret]" : (value ?? null);

const columns: readonly Column<SettingRow>[] = [
  { title: "SETTING", text: ({ name }) => name },
  { title: "VALUE", text: ({ value }) => value ?? "-" },
];

const originColumn: Column<SettingRow> = {
  title: "ORIGIN",
  text: ({ origin: { kind, name } }) => (name === null ? kind : `${kind}: ${name}`),
};
