import { product } from "../common/product.ts";
import { pageOperations as rows } from "../contract/operations/pages.ts";
import { type Bound, bind } from "./bind.ts";
import { pageFile } from "./html.ts";

const headers = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
};
const elsewhere = { status: 307, headers: { ...headers, location: "/dashboard/" }, body: null };

/** The addresses that clients of this protocol print for people; what stands there is one page. */
export const dashboardOperations: Bound[] = [
  bind(rows.home, async () => elsewhere),
  bind(rows.file, async () => ({ headers, body: dashboardPage() })),
];

/** Where people find on the command line what a web interface would show. */
const places: readonly (readonly [what: string, command: string])[] = [
  ["Clusters and services", "status"],
  ["The jobs of a cluster", "queue CLUSTER"],
  ["The log of a job", "logs CLUSTER JOB"],
  ["The events of a cluster", "events CLUSTER"],
  ["A service and its replicas", "serve status SERVICE"],
  ["The log of a replica", "serve logs SERVICE REPLICA"],
  ["What clusters cost", "cost-report"],
  ["Machines over SSH", "ssh status"],
  ["Requests", "api status"],
];

/** A page that asks nothing of the network and runs no script. */
function dashboardPage(): string {
  const shown = places.map(
    ([what, command]) =>
      `<tr><td>${what}</td><td><code>${product.word} ${command}</code></td></tr>`,
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${product.title}</title>
<style>${pageFile("docs.css")}</style>
<header><h1>${product.title}</h1><small>${product.version}</small></header>
<div class="columns">
  <nav><a href="/docs">API</a><a href="/openapi.json">OpenAPI</a></nav>
  <main>
    <p>This version has no web interface. The command line shows the same:</p>
    <table><tr><th>To see</th><th>Run</th></tr>
${shown.join("\n")}</table>
    <p>Programs use the API; <a class="type" href="/docs">its pages</a> list every operation.</p>
  </main>
</div>
</html>
`;
}
