/** One line of the table; without a target it is there for information. */
export interface Figure {
  readonly what: string;
  readonly measured: number;
  readonly unit: string;
  readonly target?: { readonly atMost: number } | { readonly atLeast: number } | undefined;
}

const headings = ["figure", "target", "measured", ""];

/** The figures of all benches as one table. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = [headings, ...figures.map(cellsOf)];
  const widths = headings.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const isNumber = (column: number) => column === 1 || column === 2;
  const lineOf = (row: string[]) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return isNumber(column) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  return rows.map(lineOf).join("\n");
}

/** Whether a figure is what it should be; one without a target always is. */
export function isMet({ target, measured }: Figure): boolean {
  if (target === undefined) return true;
  return "atMost" in target ? measured <= target.atMost : measured >= target.atLeast;
}

function cellsOf(figure: Figure): string[] {
  const { what, measured, unit, target } = figure;
  const verdict = target === undefined ? "" : isMet(figure) ? "met" : "MISSED";
  return [what, targetText(figure), `${numberText(measured)} ${unit}`, verdict];
}

function targetText({ target, unit }: Figure): string {
  if (target === undefined) return "";
  return "atMost" in target ? `≤ ${target.atMost} ${unit}` : `≥ ${target.atLeast} ${unit}`;
}

const numberText = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value.toPrecision(3);
