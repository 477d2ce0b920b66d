const longestPath = 1_000;

/**
 * Where to go after a login: a path of this control plane, with its query. `/` in the place of what
 * would lead elsewhere: browsers read `//host` and `/\host` as other hosts, and skip control characters.
 */
export function localPath(next: string | null | undefined): string {
  if (!next || next.length > longestPath || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(next)) return "/";
  const here = "http://here.invalid";
  const url = URL.canParse(next, here) ? new URL(next, here) : undefined;
  // What dots lead out of may begin with two slashes again.
  if (url?.origin !== here || url.pathname.startsWith("//")) return "/";
  return url.pathname + url.search + url.hash;
}

/** The page to log in, from which a path is gone on to. */
export function loginPath(next: string): string {
  const path = localPath(next);
  return path === "/" ? "/login" : `/login?${new URLSearchParams({ next: path })}`;
}
