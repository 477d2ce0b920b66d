import { type Document, parseAllDocuments } from "yaml";
import { fail } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import { storedPrefix } from "../../contract/task/variables.ts";
import type { Call } from "../bind.ts";
import type { Ground } from "../ground.ts";
import { ownersFor } from "./schema.ts";
import { findValue } from "./store.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * The text of a task with the values of the stored secrets that it names, as if its caller had passed them. Throws
 * `NotFoundError` for one that is not there. A text that cannot be read stays as it is.
 */
export async function withStoredSecrets(
  ctx: Ground,
  yaml: string,
  { user, workspace }: Pick<Call, "user" | "workspace">,
): Promise<string> {
  // To read a large text again takes long.
  if (!mayName.test(yaml)) return yaml;
  const documents = [...parseAllDocuments(yaml, { merge: true })] as Document[];
  if (documents.some(({ errors }) => errors.length > 0)) return yaml;
  const owners = ownersFor(user.id, workspace);
  for (const document of documents) {
    const { secrets, managed_secrets: managed } = (document.toJS() ?? {}) as Fields;
    const { own, named } = split(secrets);
    const { inEnv, files, inFiles } = splitManaged(managed);
    const variables = [...named, ...inEnv, ...Object.keys(own)];
    const uses = new Set([...named, ...inEnv, ...inFiles]);
    if (uses.size === 0) continue;
    const names = [...uses].filter((name) => !Object.hasOwn(own, name));
    const { anchor } = (document.get("secrets", true) ?? {}) as { anchor?: string };
    if (anchor !== undefined)
      fail("ValueError", `secrets: leave the anchor &${anchor} out where stored secrets are named`);
    const stored = await Promise.all(names.map((name) => getValue(ctx, owners, name)));
    const values = Object.fromEntries(names.map((name, at) => [name, stored[at]]));
    document.set("secrets", document.createNode({ ...own, ...values }));
    // One that is both is named twice.
    const both = inFiles.filter((name) => variables.includes(name));
    if (files.length === 0) document.delete("managed_secrets");
    else document.set("managed_secrets", document.createNode([...both, ...files]));
  }
  return documents.map(String).join("---\n");
}

const mayName = new RegExp(`${storedPrefix}[A-Za-z_]|managed_secrets`);

/** Secrets that a task brings itself, and the names of stored ones. */
function split(secrets: unknown): { own: Fields; named: string[] } {
  const isReference = (word: unknown): word is string =>
    typeof word === "string" && word.startsWith(storedPrefix);
  const nameOf = (reference: string) => reference.slice(storedPrefix.length);
  if (Array.isArray(secrets)) return { own: {}, named: secrets.filter(isReference).map(nameOf) };
  const entries = Object.entries((secrets ?? {}) as Fields);
  return {
    own: Object.fromEntries(entries.filter(([key]) => !isReference(key))),
    named: entries
      .map(([key]) => key)
      .filter(isReference)
      .map(nameOf),
  };
}

/** Stored secrets that become variables, and entries of those that become files. */
function splitManaged(managed: unknown) {
  const entries = [managed ?? []].flat();
  const files = entries.filter((one): one is Fields => typeof one === "object" && one !== null);
  return {
    inEnv: entries.filter((one): one is string => typeof one === "string"),
    ...{ files, inFiles: files.flatMap(Object.keys) },
  };
}

async function getValue(
  { db, seal }: Ground,
  owners: ReturnType<typeof ownersFor>,
  name: string,
): Promise<string> {
  for (const owner of owners) {
    const value = await findValue(db, seal, owner, name);
    if (value !== undefined) return value;
  }
  return fail(
    "NotFoundError",
    `there is no stored secret ${name}; store it with ${product.word} secrets set ${name}`,
  );
}
