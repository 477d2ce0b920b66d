const gigabytes: Record<string, number> = {
  k: 1024 ** -2,
  m: 1 / 1024,
  g: 1,
  t: 1024,
  p: 1024 ** 2,
};
const sizePattern = /^(\d{1,15}(?:\.\d{1,15})?)\s*(?:([kmgtp])(?:b|ib?)?)?$/i;

/** Gigabytes (1024-based) of `16`, `512MB`, `1.5Ti`; undefined when the text is no size. */
export function parseGigabytes(text: string): number | undefined {
  const [, digits, unit = "g"] = sizePattern.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  return Number(digits) * (gigabytes[unit.toLowerCase()] ?? 1);
}

const seconds: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
const durationPattern = /^(\d{1,9})\s*([smhdw]?)$/i;

/** Seconds of `90s`, `10m`, `2h`, `1d`, `1w`, or of a bare number of `unit`; undefined when neither. */
export function parseSeconds(text: string, unit: "s" | "m"): number | undefined {
  const [, digits, letter] = durationPattern.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  return Number(digits) * (seconds[(letter || unit).toLowerCase()] ?? 1);
}
