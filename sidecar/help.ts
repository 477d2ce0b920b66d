import { product } from "../common/product.ts";
import { defaultOf, flagOf, sidecarSettings, variableOf } from "./config.ts";
import { httpProxyLimits } from "./forward/engines.ts";

const width = 100;

/** What `--help` prints: every setting, its variable and default, and what the engines differ in. */
export function helpText(): string {
  const settings = Object.entries(sidecarSettings).flatMap(([name, { word, means }]) => {
    const flag = `  --${flagOf(name)}${word === undefined ? "" : ` ${word}`}`;
    return [flag, ...wrap(`${means}${defaultOf(name)} ${variableOf(name)}`)];
  });
  return [
    `usage: ${product.word} sidecar --listen HOST:PORT --key-env NAME --upstream HOST:PORT`,
    `       ${product.word} sidecar --listen HOST:PORT --key-env NAME -- COMMAND`,
    "",
    "Forwards HTTP requests that carry `Authorization: Bearer KEY`; answers 401 to all others.",
    "COMMAND serves on the loopback port that it finds as $PORT, and in place of {port}.",
    "",
    "Settings: a flag comes before its variable, that before the file of --config, one JSON object.",
    ...settings,
    "  --config FILE",
    ...wrap('A file of settings, as { "keyFile": ["keys"], "drainSeconds": 5 }.'),
    "",
    "The engine http-proxy, compared with splice:",
    ...Object.values(httpProxyLimits).map((limit) => `  - ${limit}`),
    "",
    "Signals: TERM and INT drain and end, HUP reads the keys again; a command gets all others.",
  ].join("\n");
}

const indent = "      ";

function wrap(text: string): string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(" ")) {
    if (line.length + word.length > width) {
      lines.push(line.trimEnd());
      line = indent;
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()];
}
