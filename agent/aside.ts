import { product } from "../common/product.ts";

type Env = Readonly<Record<string, string>>;

const asideOf = (name: string): string => `${product.word.toUpperCase()}_ASIDE_${name}`;

/**
 * What would change how a program between us and a script runs waits under another name for the script: the
 * environment of that program, and shell text that gives the script its own.
 */
export function setAside(
  env: Env,
  isTaken: (name: string) => boolean,
): { env: Env; restore: string } {
  const aside = Object.keys(env).filter(isTaken);
  const renamed = Object.entries(env).map(([name, value]) => [
    aside.includes(name) ? asideOf(name) : name,
    value,
  ]);
  const restored = aside.map(
    (name) => `export ${name}="$${asideOf(name)}"; unset ${asideOf(name)}`,
  );
  return { env: Object.fromEntries(renamed), restore: restored.join("\n") };
}
