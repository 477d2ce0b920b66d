import { asText } from "./amounts.ts";
import { child, itemsOf, type Place, refuse } from "./place.ts";
import { isMapping, type Reader, reads } from "./readers.ts";
import { either, list } from "./schema.ts";
import { parseGigabytes } from "./units.ts";

/** How many accelerators of which kind; the name as it is written, in any letter case. */
export interface NamedAccelerator {
  readonly by: "name";
  readonly name: string;
  readonly count: number;
}

/** How many accelerators with how much memory; any kind of the manufacturer, if one is named. */
export interface SizedAccelerator {
  readonly by: "memory";
  readonly gb: number;
  readonly orMore: boolean;
  readonly manufacturer: string | undefined;
  readonly count: number;
}
export type Accelerator = NamedAccelerator | SizedAccelerator;

/** The kinds that would do, at least one; `ordered` when the first is liked best. */
export interface AcceleratorChoice {
  readonly ordered: boolean;
  readonly kinds: readonly Accelerator[];
}

const kind = { type: "string" };
const schema = either(kind, list(kind), { type: "object", minProperties: 1 });

/** Every form of `accelerators`: text, a mapping of alternatives, an ordered list. */
export const accelerators = reads<AcceleratorChoice>(schema, (place) => {
  const { value } = place;
  if (Array.isArray(value)) return choiceOf(place, true, itemsOf(place).map(one));
  if (isMapping(value))
    return choiceOf(
      place,
      false,
      Object.keys(value).map((name) => entry(child(place, name), name)),
    );
  const set = /^\{(.*)\}$/s.exec(asText(value))?.[1];
  if (set === undefined) return choiceOf(place, false, [one(place)]);
  const items = set.split(",").map((item) => item.replace(/["'\s]/g, ""));
  return choiceOf(
    place,
    false,
    items.map((item) => parsed(place, item)),
  );
});

function choiceOf(
  place: Place,
  ordered: boolean,
  kinds: (Accelerator | undefined)[],
): AcceleratorChoice | undefined {
  if (kinds.length === 0) return refuse(place, "must name at least one kind of accelerator");
  const known = kinds.filter((kind) => kind !== undefined);
  return known.length === kinds.length ? { ordered, kinds: known } : undefined;
}

const one: Reader<Accelerator> = (place) => parsed(place, asText(place.value));

/** `A100: 8`, or `A100:8` with nothing after it, as YAML reads `{A100:8}`. */
function entry(place: Place, name: string): Accelerator | undefined {
  const { value } = place;
  if (value === null || value === undefined) return parsed(place, name);
  if (Number(asText(value)) > 0) return parsed(place, `${name}:${asText(value)}`);
  return refuse(place, "must be a count of accelerators greater than 0");
}

const sizedPattern = /^(?:([a-z][\w-]*):)?(\d+(?:\.\d+)?[kmgtp](?:b|ib?)?)(\+?)$/i;

function parsed(place: Place, text: string): Accelerator | undefined {
  const [, kind = text, digits] = /^(.*?)(?::(\d+(?:\.\d+)?))?$/s.exec(text) ?? [];
  const count = Number(digits ?? 1);
  if (!(count > 0)) return refuse(place, "must ask for more than 0 accelerators");
  const [, manufacturer, size, plus] = sizedPattern.exec(kind) ?? [];
  const gb = size === undefined ? undefined : parseGigabytes(size);
  if (gb !== undefined) return { by: "memory", gb, orMore: plus === "+", manufacturer, count };
  if (/^[A-Za-z][\w.-]*$/.test(kind)) return { by: "name", name: kind, count };
  return refuse(place, "must be a kind of accelerator with an optional count: `A100` or `A100:8`");
}
