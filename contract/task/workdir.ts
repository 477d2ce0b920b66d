import { child, type Place, refuse } from "./place.ts";
import { fields, filledText, isMapping, reads } from "./readers.ts";
import { either } from "./schema.ts";
import { isUri } from "./storage-uri.ts";

/** What lies in the folder where setup and run start. */
export type Workdir =
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "bucket"; readonly uri: string }
  | { readonly kind: "git"; readonly url: string; readonly ref: string | undefined };

const repository = fields({ url: filledText, ref: filledText }, ["url"]);
const schema = either(filledText.schema, repository.schema);

/** A folder of the caller, what a bucket has, or a git repository. */
export const workdir = reads<Workdir>(schema, (place) => {
  if (!isMapping(place.value)) {
    const path = filledText(place);
    if (path === undefined) return undefined;
    return isUri(path) ? { kind: "bucket", uri: path } : { kind: "folder", path };
  }
  const { url, ref } = repository(place) ?? {};
  if (url === undefined) return undefined;
  if (/^ssh:\/\/[^/@:]*:[^/]*@/.test(url))
    return refuse(
      child(place, "url"),
      "must not have a password, which ssh does not use; pass the key as the secret GIT_SSH_KEY",
    );
  return isGitUrl(url) ? { kind: "git", url, ref } : refuseUrl(child(place, "url"));
});

const refuseUrl = (place: Place) =>
  refuse(place, "must be an https, ssh or scp-like address: git@host:owner/repository.git");

function isGitUrl(url: string): boolean {
  if (/\s/.test(url)) return false;
  return /^(https|ssh):\/\/[^/]+\/.+$/.test(url) || /^[\w.-]+@[\w.-]+:(?!\/\/).+$/.test(url);
}
