import * as z from "zod";

/** The shape of a result, which the API document calls by this name. */
export const record = <const Fields extends z.ZodRawShape>(name: string, fields: Fields) =>
  z.object(fields).meta({ id: name });
