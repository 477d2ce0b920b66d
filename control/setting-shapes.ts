import * as z from "zod";

/** A whole number. */
export const Whole = z.coerce.number().int();

/** How many of something there may be at the same time. */
export const AtOnce = Whole.min(1).max(10_000);

/** Words between commas. */
export const List = z.string().transform((text) =>
  text
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean),
);
