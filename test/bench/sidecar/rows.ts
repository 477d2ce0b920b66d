import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";

export type Bench = (lab: Lab) => Promise<Figure[]>;

/** A bench of each row. */
export const benchesOf = <Row>(
  rows: Record<string, Row>,
  bench: (lab: Lab, row: Row) => Promise<Figure[]>,
): Record<string, Bench> =>
  Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, (lab) => bench(lab, row)]));
