import { httpProxyLimits } from "../../sidecar/forward/engines.ts";
import { forwardingNames } from "../../sidecar/forwarding-names.ts";
import { refusals } from "../../sidecar/refusals.ts";
import { code, page, table } from "./markdown.ts";

/** How the sidecar is run, what it lets through, and what it says of that. */
export const sidecarPage = (): string =>
  page(
    "The sidecar",
    "bin/docs/sidecar.ts, sidecar/refusals.ts, sidecar/forwarding-names.ts and sidecar/forward/engines.ts",
    intro,
    "## Keys",
    keys,
    "## What passes, and how",
    passes,
    "## What is refused",
    "The name stands as `outcome` in the access log and in the metrics. Each answer has a JSON body, " +
      'as `{"error":"Unauthorized"}`. Beside these, `answered`, `gone` (the client left) and `cut` ' +
      "(the answer broke off after its head) say how a request ended.",
    table(
      ["Name", "Status", "Because"],
      Object.entries(refusals).map(([name, { status, means }]) => [
        code(name),
        String(status),
        means,
      ]),
    ),
    "## What it tells",
    tells,
    "## Several cores",
    workers,
    "## Memory",
    memory,
    "## Its end",
    ending,
    "## Under systemd, in a container",
    places,
    "## Engines",
    "`splice`, the sidecar's own, passes bytes from socket to socket. `--engine http-proxy` is there for " +
      "who wants the library of that name to do it; behind the same check, and otherwise in this:",
    table(["What", "With `http-proxy`"], Object.entries(httpProxyLimits)),
  );

const intro = `Stands before a model server and lets through what carries a key. Everything else is answered
401, and nothing of it reaches the server.

\`\`\`sh
# before a server that runs already
outrigger sidecar --listen 0.0.0.0:8080 --key-file keys --upstream 127.0.0.1:8000
# or around its command, which is to serve on $PORT of 127.0.0.1, also put in place of {port}
outrigger sidecar --listen 0.0.0.0:8080 --key-env API_KEY -- vllm serve MODEL --host 127.0.0.1 --port '{port}'
\`\`\`

The command gets a port that is free, or the one of \`--command-port\`. Nobody looks whether that is taken: a command that
cannot listen there says so itself.

In front of a service's replicas, for \`service.auth\`, agents start it themselves, without an access log. There \`envs\` of the
task may set the rest: \`OUTRIGGER_SIDECAR_ALLOW_PATH: /health\`.

[Every setting](settings.md#sidecar) is a flag, a variable, or a field of the JSON file of \`--config\`, in this
order. \`examples/sidecar.sh\` can be tried on any machine. It speaks plain HTTP: before clients that come
over a network it needs something that ends TLS.`;

const keys = `A key comes from a variable (\`--key-env NAME\`), from a file (\`--key-file FILE\`), or, for tests, from the
command line (\`--key KEY\`). Each source holds one key a line; without any key the sidecar does not start.

\`\`\`
# KEY [id=NAME] [expires=TIME] [note=TEXT]; KEY may be the SHA-256 of a key
sk-3f9c0a  id=team-a  expires=2027-01-31T00:00:00Z  note=of the batch jobs
sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae  id=team-b
\`\`\`

\`printf %s "$KEY" | sha256sum\` makes the second form. A key cannot begin like a field (\`id=\`) or another digest. Keys are compared in a time that does not depend on how much
of them is right. Without an \`id\` a key is called by its source, as \`API_KEY\` or \`keys:3\`.

A file is read again on SIGHUP, and within a quarter of a second after it changed, was swapped, or got another owner
or mode. Requests under way go on; whoever comes next needs a key that holds now. To change a key without a refusal: add the new one, move
the clients, take the old one away. A file that is gone, not understood, or without a key where there is
no other changes nothing, and the log says so: to let nobody in, stop the sidecar. Replace a file by renaming another into its place: one that is written slowly might be read half.`;

const passes = `A request passes with exactly one \`Authorization: Bearer KEY\`; the scheme in any case, one blank, the key exactly.
\`--allow-path PATH\` opens a path to GET and HEAD without a key, byte for byte and whatever its query. Health checks
carry the key like everyone else, or use such a path.

- The request line, names, values, their order and letters, and bodies stay as they are. A target that is a whole URL
  goes on as its path, with its host as \`Host\`.
- Headers for one hop (\`Connection\` and what it names, \`Keep-Alive\`, \`TE\`, \`Proxy-*\`, \`Upgrade\`) go no further, in
  both directions.
- \`Authorization\` goes on, as the server may check too; \`--strip-authorization\` takes it away.
- \`X-Forwarded-For\`, \`-Proto\` and \`-Host\` are set. Of a client's own, all \`X-Forwarded-*\` are dropped, and
  ${forwardingNames.map((name) => code(name)).join(", ")}; with
  \`--trust-forwarded\`, for a proxy in front of the sidecar, they pass.
- Names that a server may read as one of those above pass in no case: WSGI and CGI read \`X_Forwarded_For\` as
  \`X-Forwarded-For\`, and \`Content_Length\` as \`Content-Length\`. Other names with underscores pass.
- Answers pass as they come: events one by one, heads before their bodies, 100 and 103, trailers. An answer that
  breaks off breaks off at the client too. A client that leaves ends its request at the server.
- WebSockets open with the key. No other upgrade does.
- After a refusal the connection goes on if the body is at most 64 KB and has a length; else it ends, once the answer
  could be read.
- Only a request that is safe to repeat is sent a second time, and only over a connection that had just died.
- What the upstream did not answer, as it cannot be reached or broke off, is answered 502; with \`--break-off\` the
  connection ends without an answer, for a balancer before the sidecar, which may ask elsewhere.`;

const tells = `\`--metrics 127.0.0.1:9100\` answers \`GET /metrics\` (Prometheus) and \`GET /healthz\` (200, or 503 while it drains), on a
port of their own and without a key: keep it on loopback.

| Metric | Counts |
| --- | --- |
| \`outrigger_sidecar_requests_total{outcome,key}\` | requests that ended; \`key\` is the id, empty when refused |
| \`outrigger_sidecar_request_seconds\` | histogram: from the head to the end of the answer |
| \`outrigger_sidecar_received_bytes_total\`, \`outrigger_sidecar_sent_bytes_total\` | bytes of requests' bodies, of answers |
| \`outrigger_sidecar_log_lines_dropped_total\` | log lines that nothing took |
| \`outrigger_sidecar_workers_replaced_total\` | workers that ended by themselves and were replaced |
| \`outrigger_sidecar_workers\`, \`outrigger_sidecar_connections\`, \`outrigger_sidecar_open_requests\`, \`outrigger_sidecar_keys\` | what there is now |

The access log is a JSON line a request, on stderr, in a file (\`--access-log FILE\`) or nowhere (\`off\`): id of the key,
address, method, path, status, outcome, milliseconds, bytes. Never a header, a body, or what follows the \`?\`, so that
a key in a query is in no log. A key in the path itself would be: do not put one there.

Requests, signals and exits never wait for a log. When nobody reads stderr, or the disk is full, up to 1 MiB of lines is
retained and tried again; further lines are dropped and counted, and once there is room a line says how many. To write
without waiting, the sidecar opens a pipe or a terminal on stderr again, so that others who share it, such as a wrapped
command, notice nothing. A socket, as under systemd, cannot be opened again: it becomes non-blocking for the command too.`;

const memory = `A connection at rest takes 7 KB. A client that does not read holds at most 64 KB of its answer. What a crowd of
such clients took, 28 KB each when measured with 1,500, is not given back to the system once they have left.`;

const workers = `One process forwards on one core. \`--workers N\` starts N processes that share the port; \`--workers auto\` starts one for
each available core. The process you started no longer forwards: it reads the keys, runs the wrapped command, answers
\`/metrics\` and \`/healthz\`, and takes the signals. From outside nothing else changes:

- Metrics are the sums over all workers. The counters of a worker that ended stay in the sums, up to what it had
  counted at the previous scrape.
- New keys are logged as read once every worker uses them. A worker that does not answer within 5 seconds is killed.
- A worker that ends breaks the connections it had, is logged as a warning, and is replaced: at once, or after
  100 ms to 30 s if it ran for less than 10 seconds, doubling each time. \`/healthz\` answers 503 while there is none.
- One signal to the process you started is enough, and workers ignore signals to their group. When that process is killed,
  its workers end with it.
- \`--connections\` is divided evenly. The kernel distributes clients by address, so a worker may reach its share before the
  total is reached.

Each worker takes as much memory as a sidecar of its own, about 50 MB, and so does the process that leads them. Without \`--workers\` there
is one process.`;

const ending = `SIGTERM and SIGINT drain: no new connection or request, what is under way is answered, and what lasts longer than
\`--drain-seconds\` is cut. Only then a wrapped command gets SIGTERM; a second signal gives it that at once. The command
also gets QUIT, USR1, USR2 and WINCH, but not HUP, which reads the keys again. The sidecar ends with the code of the
command, 128 and the signal's number when a signal ended it, 127 when there is no such command; 2 is a wrong setting. A
command that ends by itself ends the sidecar; one that has not ended \`--drain-seconds\` after SIGTERM is killed, with
all that it started. It sees the environment of the sidecar, keys in it among it.

A sidecar that is killed takes its command with it: a small shell, started beside the command, notices, sends TERM to all that
the command started, and after \`--drain-seconds\` KILL. It needs \`sh\` and \`grep\`, and is no parent of the command, whose
exit code, signals, terminal and stdin stay as they are.`;

const places = `\`\`\`ini
[Unit]
After=network.target
[Service]
ExecStart=/opt/outrigger/bin/outrigger sidecar --key-file /etc/outrigger/keys --upstream 127.0.0.1:8000
ExecReload=/bin/kill -HUP $MAINPID
User=outrigger
Restart=always
RestartPreventExitStatus=2
TimeoutStopSec=30
[Install]
WantedBy=multi-user.target
\`\`\`

In a container it is one file, \`dist/sidecar.mjs\` of \`npm run bundle\`, and Node.js 24:

\`\`\`sh
node --disable-warning=DEP0060 --max-semi-space-size=1 --no-maglev sidecar.mjs --key-env API_KEY --upstream 127.0.0.1:8000
\`\`\`

As the first process of a container that wraps a command, run it under an init (\`docker run --init\`). Give it longer to
end than \`--drain-seconds\`, with a command than twice that. A request under way takes two open files.`;
