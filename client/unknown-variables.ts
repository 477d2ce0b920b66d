import { fail } from "../common/errors.ts";
import { product } from "../common/product.ts";
import { hintOf } from "../contract/spelling.ts";
import knownVariables from "./known-variables.json" with { type: "json" };

const prefix = `${product.word}_`.toUpperCase();
/** Under this prefix a replica's sidecar stores variables of its job for the time being. */
const asidePrefix = `${prefix}ASIDE_`;

/** Throws `ConfigError` for a variable of ours that none of our programs knows. */
export function refuseUnknownVariables(env: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(prefix) || value === undefined || name.startsWith(asidePrefix)) continue;
    const suffix = name.slice(prefix.length);
    if (knownVariables.includes(suffix)) continue;
    const hint = hintOf(suffix, knownVariables, "unset it; docs/settings.md lists all");
    fail("ConfigError", `unknown setting ${name}; ${hint.replace("`", `\`${prefix}`)}`);
  }
}
