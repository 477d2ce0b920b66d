import { refuse } from "./place.ts";
import { reads } from "./readers.ts";
import { amount } from "./schema.ts";
import { parseGigabytes } from "./units.ts";

/** A count of processors, or that many and more. */
export interface CpuAmount {
  readonly count: number;
  readonly orMore: boolean;
}

/** An amount of memory, or that much and more. */
export interface MemoryAmount {
  readonly gb: number;
  readonly orMore: boolean;
}

const size = /^\s*\d{1,15}(?:\.\d{1,15})?\s*(?:[kKmMgGtTpP](?:[bB]|[iI][bB]?)?)?\s*$/;
const sizeOrMore = new RegExp(size.source.replace(/\$$/, "\\+?$"));

/** `4`, `"4"`, `"4+"`. */
export const cpus = reads<CpuAmount>(amount(/^\s*\d{1,15}(?:\.\d{1,15})?\+?\s*$/), (place) => {
  const [, digits, plus] = /^(\d{1,15}(?:\.\d{1,15})?)(\+?)$/.exec(asText(place.value)) ?? [];
  if (digits === undefined)
    return refuse(place, 'must be a positive number, or one with a plus: 4 or "4+"');
  return { count: Number(digits), orMore: plus === "+" };
});

/** `16`, `"16+"`, `"512MB"`, `"1.5Ti+"`; a bare number is gigabytes. */
export const memory = reads<MemoryAmount>(amount(sizeOrMore), (place) => {
  const [, size = "", plus] = /^(.*?)(\+?)$/.exec(asText(place.value)) ?? [];
  const gb = parseGigabytes(size);
  if (gb === undefined || gb <= 0)
    return refuse(place, 'must be a positive amount of memory: 16, "16+" or "16GB+"');
  return { gb, orMore: plus === "+" };
});

/** Whole gigabytes: `100`, `"100GB"`, `"1TB"`. */
export const diskGb = reads(amount(size), (place) => {
  const gb = parseGigabytes(asText(place.value));
  if (gb === undefined || gb <= 0)
    return refuse(place, 'must be a positive size of a disk: 100, "100GB" or "1TB"');
  return Number.isInteger(gb) ? gb : refuse(place, "must be a whole number of gigabytes");
});

/** A disk inside the machine: `"nvme:500+"`, `"ssd"`, `"500"`. */
export const localDisk = reads({ type: ["string", "number"] }, (place) => {
  const written = asText(place.value);
  const [, size] = /^(?:(?:nvme|ssd):)?([^+]+)\+?$/i.exec(written) ?? [];
  const isKind = /^(?:nvme|ssd)$/i.test(written);
  if (isKind || (size !== undefined && (parseGigabytes(size) ?? 0) > 0)) return written;
  return refuse(place, "must be nvme or ssd, a size, or both: `nvme:500GB+`");
});

/** A number or text as text; what is neither becomes text that no pattern takes. */
export function asText(value: unknown): string {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? value.trim() : "";
}
