import * as z from "zod";
import { form, text } from "./shapes.ts";

const Context = z.strictObject({
  name: z.string(),
  endpoint: text.describe("Null is the control plane of your home."),
  token_file: text,
  workspace: text,
  current: z.boolean(),
});

/** A context, as `context list` prints it. */
export const contextForm = form(Context);

const Setting = z.strictObject({
  name: z.string(),
  value: text.describe("Secrets are not shown."),
  origin: z.strictObject({
    kind: z.string().describe("default, environment, flag, context and the like."),
    name: text.describe("Of the variable, flag or context."),
  }),
});

/** A setting of the command line, as `config show` prints it. */
export const settingForm = form(Setting);
