import { parseAllDocuments } from "yaml";

interface Asked {
  readonly auth?: { readonly api_key?: unknown } | null;
  readonly readiness_probe?: string | Probe | null;
  readonly tls?: { readonly certfile?: unknown } | null;
}

interface Probe {
  readonly path?: unknown;
  readonly post_data?: unknown;
  readonly headers?: Readonly<Record<string, unknown>> | null;
}

/** A value that names where a key comes from, and holds none. */
const reference = /^(?:[A-Za-z]+ )?\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})$/;
/** Stands for a key that the document has in plain: it is shown nowhere, and no variable holds it. */
const plainKey = "<key>";

/** A line for the shell that asks a service of this task; a key stands in it by its name alone. */
export function curlOf(taskText: string, endpoint: string): string {
  const { auth, readiness_probe: asked, tls } = serviceOf(taskText);
  const probe: Probe = typeof asked === "string" ? { path: asked } : (asked ?? {});
  const headers = auth ? [bearer(auth.api_key)] : headersOf(probe);
  const isGet = typeof probe.path === "string" && !probe.post_data;
  const trusted = typeof tls?.certfile === "string" ? ["--cacert", quoted(tls.certfile)] : [];
  const words = ["curl", ...trusted, ...headers.map((header) => `-H "${header}"`)];
  return [...words, quoted(`${endpoint}${isGet ? probe.path : "/"}`)].join(" ");
}

function serviceOf(taskText: string): Asked {
  const tasks = [...parseAllDocuments(taskText)].map((document): unknown => document.toJS());
  const [task] = tasks.filter((one) => typeof one === "object" && one !== null);
  return ((task ?? {}) as { service?: Asked | null }).service ?? {};
}

const bearer = (key: unknown): string =>
  `Authorization: Bearer ${typeof key === "string" && reference.test(key) ? key : plainKey}`;

/** Those of the probe that carry a key: servers that check it themselves ask it of everyone. */
function headersOf({ headers }: Probe): string[] {
  return Object.entries(headers ?? {}).flatMap(([name, value]) => {
    if (typeof value === "string" && reference.test(value)) return [`${name}: ${value}`];
    return /^authorization$/i.test(name) ? [bearer(undefined)] : [];
  });
}

const quoted = (word: string): string =>
  /^[\w:/.[\]~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
