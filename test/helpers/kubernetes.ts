import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { until } from "./agent.ts";

/** A namespace of a real Kubernetes, which a test has for itself. */
export interface Lab {
  /** Its only context is named `lab`, and in the namespace. */
  readonly kubeconfig: string;
  readonly namespace: string;
  /** The words with which kubectl is called there. */
  readonly kubectlWords: readonly string[];
  /** What kubectl prints, in the namespace. */
  kubectl(...words: string[]): Promise<string>;
  /** Makes an object, of the namespace unless it belongs to none. */
  create(object: { kind: string; metadata: object; spec?: object }): Promise<string>;
  /** An object of the namespace, or undefined. */
  get<T>(kind: string, name: string): Promise<T | undefined>;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

const { KUBERNETES_LAB: folder = "", KUBERNETES_BINARIES: binaries = "" } = process.env;

/** The image that the lab has for nodes. */
export const labImage = "docker.io/lab/debian:1";

/** Why there is no Kubernetes to test against; false where there is one. */
export const whyNoLab = (): string | false =>
  folder === "" ? "needs `npm run test:kubernetes`" : false;

/** Makes a namespace; it is gone, with all that is in it, once the test is over. */
export async function openLab(t: Cleaner): Promise<Lab> {
  const namespace = `test-${randomBytes(4).toString("hex")}`;
  const home = mkdtempSync(join(tmpdir(), "kube-"));
  const kubeconfig = join(home, "config");
  const shared = readFileSync(join(folder, "kubeconfig"), "utf8");
  writeFileSync(
    kubeconfig,
    shared.replace("user: admin}", `user: admin, namespace: ${namespace}}`),
  );
  const flags = [`--kubeconfig=${join(folder, "kubeconfig")}`, `--namespace=${namespace}`];
  const program = join(binaries, "kubectl");
  const kubectl = async (...words: string[]) =>
    (await promisify(execFile)(program, [...flags, ...words])).stdout.trim();
  await kubectl("create", "namespace", namespace);
  // No pod is made before.
  await until(async () => (await kubectl("get", "serviceaccounts", "--output=name")) || undefined);
  t.after(async () => {
    await kubectl("delete", "pods", "--all", "--grace-period=1");
    await kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found");
    rmSync(home, { recursive: true });
  });
  return {
    ...{ kubeconfig, namespace, kubectl, kubectlWords: [program, ...flags] },
    create(object) {
      const file = join(home, "object.json");
      writeFileSync(file, JSON.stringify({ apiVersion: "v1", ...object }));
      return kubectl("create", `--filename=${file}`);
    },
    async get(kind, name) {
      const found = await kubectl("get", kind, name, "--ignore-not-found", "--output=json");
      return found === "" ? undefined : JSON.parse(found);
    },
  };
}

/** Where the lab reaches this machine. */
export const labHost = "203.0.113.1";

/** Programs of containerd's in the lab. */
const ctr = (...words: readonly string[]) =>
  promisify(execFile)("ctr", [
    ...["--address", join(folder, "containerd.sock"), "--namespace", "k8s.io"],
    ...words,
  ]);

/** Gives the lab the images of an archive of docker's. */
export const importImages = (archive: string) => ctr("images", "import", archive);

/** Pushes the lab's image to a registry that speaks plain HTTP, and has the lab pull from there. */
export async function pushImage(server: string, name: string, login: string): Promise<void> {
  const trusted = join(folder, "containerd/certs.d", server);
  mkdirSync(trusted, { recursive: true });
  writeFileSync(join(trusted, "hosts.toml"), `[host."http://${server}"]\n`);
  await ctr("images", "push", "--plain-http", "--user", login, `${server}/${name}`, labImage);
}

/** Kills a program of the lab, and starts it again once something was done without it. */
export async function whileAway(
  name: "kube-apiserver" | "kubelet",
  meanwhile: () => Promise<void>,
): Promise<void> {
  const pidFile = join(folder, `${name}.pid`);
  const pid = Number(readFileSync(pidFile, "utf8"));
  const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
  process.kill(pid, "SIGKILL");
  await until(() => (existsSync(`/proc/${pid}/cwd`) ? undefined : true));
  try {
    await meanwhile();
  } finally {
    const log = openSync(join(folder, `log/${name}.log`), "a");
    const etcd = readFileSync(join(folder, "etcd.pid"), "utf8").trim();
    const within = [`--target=${etcd}`, "--net", ...words];
    const options = { cwd: folder, detached: true } as const;
    const child = spawn("nsenter", within, { ...options, stdio: ["ignore", log, log] });
    child.unref();
    closeSync(log);
    writeFileSync(pidFile, String(child.pid));
  }
}
