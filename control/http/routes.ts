import { type Operation, routeOf } from "../../common/operation.ts";

/** What a request calls. */
export interface Route {
  readonly row: Operation;
  /** The fields that its path has. */
  readonly path: Readonly<Record<string, string>>;
}

/** The rows of an API by method and path; a slash at the end of a path changes nothing. */
export interface Routes {
  find(method: string, url: string): Route | undefined;
  /** The methods that a path takes. */
  methodsOf(path: string): string[];
}

interface Pattern {
  readonly row: Operation;
  readonly method: string;
  readonly fits: RegExp;
}

/** The table of some rows, which are read once for all servers of this process. */
export function routesOf(rows: readonly Operation[]): Routes {
  const routes = known.get(rows) ?? openRoutes(rows);
  known.set(rows, routes);
  return routes;
}

const known = new WeakMap<readonly Operation[], Routes>();

function openRoutes(rows: readonly Operation[]): Routes {
  const isPlain = (row: Operation) => !row.route.includes("{");
  const plain = new Map(
    rows.filter(isPlain).map((row) => [row.route as string, { row, path: {} }]),
  );
  const patterns = rows.filter((row) => !isPlain(row)).map(toPattern);
  return {
    find(method, url) {
      const path = pathOf(url);
      const route = plain.get(`${method} ${path}`);
      if (route !== undefined) return route;
      for (const { row, method: its, fits } of patterns) {
        const found = its === method ? fits.exec(path) : null;
        if (found !== null) return { row, path: decoded(found.groups) };
      }
      return undefined;
    },
    methodsOf(url) {
      const path = pathOf(url);
      const ofPlain = rows
        .filter(isPlain)
        .map(routeOf)
        .filter((route) => route.path === path);
      const others = patterns.filter(({ fits }) => fits.test(path));
      return [...ofPlain, ...others].map(({ method }) => method);
    },
  };
}

/** Source: RFC 3986 section 2.3. */
const encodedUnreserved = /%(?:2[de]|3\d|[46][1-9a-f]|5[0-9af]|7[0-9ae])/gi;

/**
 * The target of a request as most clients write it: without scheme and host, and with no character encoded that
 * need not be. Source: RFC 9112 section 3.2.2, RFC 3986 section 6.2.2.2.
 */
export function plainTarget(target: string): string {
  const path = target.replace(/^https?:\/\/[^/?#]*\/?/i, "/");
  return path.replace(encodedUnreserved, (encoded) => decodeURIComponent(encoded));
}

/** The path of a request: what stands before its query, without a slash at the end. */
function pathOf(url: string): string {
  const end = url.search(/\/?(?:[?#]|$)/);
  return end === 0 ? "/" : url.slice(0, end);
}

/** The rest of a path, slashes included, goes by the name that rows give it; there may be none. */
function toPattern(row: Operation): Pattern {
  const { method, path } = routeOf(row);
  const text = path
    .replace("/{full_path}", "(?:/(?<full_path>.*))?")
    .replace(/\{(\w+)\}/g, "(?<$1>[^/]+)");
  return { row, method, fits: new RegExp(`^${text}$`) };
}

const decoded = (fields: Readonly<Record<string, string | undefined>> = {}) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value = ""]) => [name, decodeURIComponent(value)]),
  );
