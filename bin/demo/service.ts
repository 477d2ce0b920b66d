import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type * as z from "zod";
import type { serviceForm } from "../../client/output/services.ts";
import { findTree } from "../../common/process-tree.ts";

/** A step of the demo: a command line, or what is typed and done beside it. */
export type Step =
  | { readonly title: string; readonly args: readonly string[] }
  | {
      readonly title: string;
      readonly typed: string;
      readonly show: (demo: Demo) => Promise<void>;
    };

/** The demo as its steps see it. */
export interface Demo {
  readonly home: string;
  /** What a command line prints. */
  readonly answerOf: (...args: string[]) => Promise<string>;
  readonly signal: AbortSignal;
}

/** Known to the environment of the demo's command lines as `API_KEY`. */
export const apiKey = randomBytes(8).toString("hex");

const name = "hello";
const url = `$(outrigger serve status ${name} --endpoint)`;
const withKey = `curl -H "Authorization: Bearer $API_KEY"`;

/** A service of two replicas behind a key, of which one loses its server. */
export const serviceSteps: readonly Step[] = [
  {
    title: "Bring up a service: two replicas, a key before each",
    args: ["serve", "up", "-y", "--secret", "API_KEY", "examples/hello-service.yaml"],
  },
  {
    title: "Ask it without the key",
    typed: `curl ${url}/`,
    show: async (demo) => show(await ask(demo, "/", {}), 401),
  },
  {
    title: "Ask it with the key",
    typed: `${withKey} ${url}/`,
    show: async (demo) => show(await ask(demo, "/"), 200),
  },
  { title: "Have an answer streamed", typed: `${withKey} ${url}/stream`, show: showStream },
  {
    title: "Kill one server while requests go on",
    typed: "kill -9 <the server of a replica>",
    show: killOne,
  },
  { title: "See what became of it", args: ["serve", "status"] },
  { title: "Take the service down", args: ["serve", "down", "-y", name] },
];

const keyHeader = { authorization: `Bearer ${apiKey}` };

async function ask(
  demo: Demo,
  path: string,
  headers: Record<string, string> = keyHeader,
): Promise<Response> {
  const endpoint = (await demo.answerOf("serve", "status", name, "--endpoint")).trim();
  return fetch(`${endpoint}${path}`, { headers, signal: demo.signal });
}

async function show(answer: Response, expected: number): Promise<void> {
  console.log(`${answer.status} ${(await answer.text()).trim()}`);
  if (answer.status !== expected) throw new Error(`${answer.status} is not ${expected}`);
}

async function showStream(demo: Demo): Promise<void> {
  const answer = await ask(demo, "/stream");
  const since = performance.now();
  for await (const chunk of answer.body ?? []) {
    const ms = Math.round(performance.now() - since);
    console.log(`${String(ms).padStart(5)} ms  ${new TextDecoder().decode(chunk).trim()}`);
  }
}

async function killOne(demo: Demo): Promise<void> {
  await untilReady(demo, (ids) => ids.length === 2);
  const endpoint = (await demo.answerOf("serve", "status", name, "--endpoint")).trim();
  const load = startLoad(endpoint, demo.signal);
  await sleep(500, undefined, { signal: demo.signal });
  process.kill(serverOf(demo.home), "SIGKILL");
  const since = performance.now();
  // The third replica is the one that took its place.
  const ids = await untilReady(demo, (ready) => ready.length === 2 && ready.includes(3));
  const seconds = ((performance.now() - since) / 1000).toFixed(1);
  const answers = await load.stop();
  console.log(`replicas ${ids.join(" and ")} are ready, ${seconds} s after the kill`);
  const counts = Object.entries(Object.groupBy(answers, (one) => one));
  for (const [answer, all = []] of counts)
    console.log(`${all.length} requests meanwhile: ${answer}`);
  if (counts.length !== 1 || answers[0] !== "200") throw new Error("requests were lost");
}

/** Waits until the replicas that are ready are as wanted; their numbers. */
async function untilReady(demo: Demo, isEnough: (ids: number[]) => boolean): Promise<number[]> {
  for (;;) {
    const text = await demo.answerOf("serve", "status", name, "-o", "json");
    const [service] = JSON.parse(text) as z.output<typeof serviceForm.schema>[];
    const ready = service?.replicas.filter(({ status }) => status === "READY") ?? [];
    const ids = ready.map(({ id }) => id);
    if (isEnough(ids)) return ids;
    await sleep(200, undefined, { signal: demo.signal });
  }
}

/** Asks again and again, four at a time, until it is stopped; how each request was answered. */
function startLoad(endpoint: string, signal: AbortSignal) {
  const answers: string[] = [];
  let isOver = false;
  const askOn = async () => {
    while (!isOver && !signal.aborted) {
      const answer = fetch(endpoint, { headers: keyHeader, signal }).then(async (response) => {
        await response.text();
        return String(response.status);
      });
      answers.push(await answer.catch(String));
      await sleep(20);
    }
  };
  const all = Promise.all(Array.from({ length: 4 }, askOn));
  return {
    async stop(): Promise<string[]> {
      isOver = true;
      await all;
      return answers;
    },
  };
}

/** The process that serves on one of the nodes below a home. */
function serverOf(home: string): number {
  const nodes = readdirSync(join(home, "nodes")).map((node) => join(home, "nodes", node));
  const processes = nodes.flatMap((node) => findTree({ roots: [], mark: `HOME=${node}` }));
  const server = processes.find(({ pid }) =>
    readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes("server.mjs"),
  );
  if (server === undefined) throw new Error("no server runs");
  return server.pid;
}

/** What the environment of each balancer below a home says: it is no child of anyone. */
export function balancerMarks(home: string): string[] {
  const services = join(home, "services");
  if (!existsSync(services)) return [];
  return readdirSync(services, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".sock"))
    .map((file) => `OUTRIGGER_SOCKET=${join(services, file)}`);
}
