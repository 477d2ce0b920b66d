import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import * as z from "zod";
import { AppError, fail, messageOf } from "../../../common/errors.ts";
import { Secret } from "../../../common/secret.ts";

/** A cluster of a kubeconfig, and how we log in there. */
export interface KubeContext {
  readonly name: string;
  /** `https://host:port`, without a slash at its end. */
  readonly server: string;
  readonly namespace: string;
  readonly tls: Readonly<{
    ca?: Buffer;
    cert?: Buffer;
    key?: Buffer;
    servername?: string;
    rejectUnauthorized?: boolean;
  }>;
  /** The `authorization` header, renewed when it has expired; undefined where a certificate is enough. */
  authorization(): Promise<Secret | undefined>;
}

/** The contexts of a kubeconfig. */
export interface KubeContexts {
  readonly current: string | null;
  readonly all: readonly KubeContext[];
}

const Cluster = z.object({
  server: z.url(),
  "certificate-authority": z.string().optional(),
  "certificate-authority-data": z.base64().optional(),
  "insecure-skip-tls-verify": z.boolean().optional(),
  "tls-server-name": z.string().optional(),
});
const Plugin = z.object({
  apiVersion: z.string(),
  command: z.string(),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
});
const User = z.object({
  token: z.string().optional(),
  tokenFile: z.string().optional(),
  "client-certificate": z.string().optional(),
  "client-certificate-data": z.base64().optional(),
  "client-key": z.string().optional(),
  "client-key-data": z.base64().optional(),
  exec: Plugin.optional(),
});
const Kubeconfig = z.object({
  "current-context": z.string().nullish(),
  clusters: z.array(z.object({ name: z.string(), cluster: Cluster })).nullish(),
  users: z.array(z.object({ name: z.string(), user: User.nullish() })).nullish(),
  contexts: z
    .array(
      z.object({
        name: z.string(),
        context: z.object({
          cluster: z.string(),
          user: z.string().optional(),
          namespace: z.string().optional(),
        }),
      }),
    )
    .nullish(),
});
type Cluster = z.output<typeof Cluster>;
type User = z.output<typeof User>;
type Plugin = z.output<typeof Plugin>;

/** Where Kubernetes puts what a pod needs to call its API. */
const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";
const inCluster = "in-cluster";
const pluginMs = 15_000;
/** A credential is renewed so long before it expires. */
const renewMs = 60_000;
/** The service account's token is replaced on disk; it is read again after so long. */
const tokenFileMs = 60_000;

/** The contexts of a kubeconfig, or of the pod that we run in; none where there is neither. */
export async function readContexts(
  file: string,
  inClusterFolder = serviceAccountFolder,
): Promise<KubeContexts> {
  if (existsSync(file)) return contextsOf(await readFile(file, "utf8"), file);
  if (!existsSync(`${inClusterFolder}/token`)) return { current: null, all: [] };
  const context: KubeContext = {
    name: inCluster,
    server: "https://kubernetes.default.svc",
    namespace: (await readFile(`${inClusterFolder}/namespace`, "utf8")).trim(),
    tls: { ca: await readFile(`${inClusterFolder}/ca.crt`) },
    authorization: bearerFrom(`${inClusterFolder}/token`),
  };
  return { current: inCluster, all: [context] };
}

async function contextsOf(text: string, file: string): Promise<KubeContexts> {
  const { data, error } = Kubeconfig.safeParse(parseYaml(text, file));
  if (data === undefined)
    fail("ConfigError", `${file} is not a kubeconfig: ${z.prettifyError(error)}`);
  const from = dirname(file);
  const all = (data.contexts ?? []).map(async ({ name, context }) => {
    const { cluster } =
      data.clusters?.find((one) => one.name === context.cluster) ??
      fail(
        "ConfigError",
        `${file}: context ${name} names the cluster ${context.cluster}, which is missing`,
      );
    const user = data.users?.find((one) => one.name === context.user)?.user ?? {};
    return {
      name,
      server: cluster.server.replace(/\/+$/, ""),
      namespace: context.namespace ?? "default",
      tls: await tlsOf(cluster, user, from),
      authorization: authorizationOf(user, from),
    };
  });
  return { current: data["current-context"] ?? null, all: await Promise.all(all) };
}

function parseYaml(text: string, file: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    // The lines below show the text.
    const [why = ""] = messageOf(error).split(/:?\n/);
    throw new AppError("ConfigError", `${file} is not YAML: ${why}`);
  }
}

async function tlsOf(cluster: Cluster, user: User, from: string): Promise<KubeContext["tls"]> {
  const read = async (kind: "ca" | "cert" | "key", data?: string, file?: string) => {
    if (data !== undefined) return { [kind]: Buffer.from(data, "base64") };
    return file === undefined ? {} : { [kind]: await readFile(resolve(from, file)) };
  };
  const servername = cluster["tls-server-name"];
  return {
    ...(await read("ca", cluster["certificate-authority-data"], cluster["certificate-authority"])),
    ...(await read("cert", user["client-certificate-data"], user["client-certificate"])),
    ...(await read("key", user["client-key-data"], user["client-key"])),
    ...(servername !== undefined && { servername }),
    ...(cluster["insecure-skip-tls-verify"] && { rejectUnauthorized: false }),
  };
}

function authorizationOf(user: User, from: string): KubeContext["authorization"] {
  const { token, tokenFile, exec } = user;
  if (exec !== undefined) return renewed(() => runPlugin(exec, from));
  if (tokenFile !== undefined) return bearerFrom(resolve(from, tokenFile));
  const header = token ? new Secret(`Bearer ${token}`) : undefined;
  return async () => header;
}

interface Credential {
  readonly header: Secret;
  readonly expiresAt: number;
}

/** What is asked for anew only once it has expired. */
function renewed(ask: () => Promise<Credential>): KubeContext["authorization"] {
  let known: Promise<Credential> | undefined;
  return async () => {
    if (known !== undefined && (await known).expiresAt < Date.now()) known = undefined;
    known ??= ask();
    known.catch(() => {
      known = undefined;
    });
    return (await known).header;
  };
}

const bearerFrom = (file: string): KubeContext["authorization"] =>
  renewed(async () => ({
    header: new Secret(`Bearer ${(await readFile(file, "utf8")).trim()}`),
    expiresAt: Date.now() + tokenFileMs,
  }));

const Answer = z.object({
  status: z.object({
    token: z.string(),
    expirationTimestamp: z.iso.datetime({ offset: true }).optional(),
  }),
});

/** Runs a program that logs in, as those of clouds. Source: client-go credential plugins. */
async function runPlugin(
  { apiVersion, command, args, env }: Plugin,
  from: string,
): Promise<Credential> {
  const info = { apiVersion, kind: "ExecCredential", spec: { interactive: false } };
  const variables = [
    ...(env ?? []).map(({ name, value }) => `${name}=${value}`),
    `KUBERNETES_EXEC_INFO=${JSON.stringify(info)}`,
  ];
  const program = command.includes("/") ? resolve(from, command) : command;
  try {
    const words = [...variables, program, ...(args ?? [])];
    const { stdout } = await promisify(execFile)("env", words, { timeout: pluginMs });
    const { token, expirationTimestamp: until } = Answer.parse(JSON.parse(stdout)).status;
    const expiresAt = until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until) - renewMs;
    return { header: new Secret(`Bearer ${token}`), expiresAt };
  } catch (error) {
    // What it printed may be a credential.
    const { code } = error as { code?: unknown };
    throw new AppError(
      "CloudError",
      `the kubeconfig's program ${command} gave no token (${code ?? "unreadable answer"})`,
    );
  }
}
