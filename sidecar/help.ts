import { product } from "../common/product.ts";
import { defaultOf, flagOf, sidecarSettings, variableOf } from "./config.ts";
import { httpProxyLimits } from "./forward/engines.ts";

const width = 80;

/** What `--help` prints: every setting, its variable and default, and what the engines differ in. */
export function helpText(): string {
  const settings = Object.entries(sidecarSettings).flatMap(([name, { word, means }]) => {
    const flag = `  --${flagOf(name)}${word === undefined ? "" : ` ${word}`}`;
    return [flag, ...wrap(`${means}${defaultOf(name)} ${variableOf(name)}`, below)];
  });
  return [
    `usage: ${product.word} sidecar --listen HOST:PORT --key-env NAME --upstream HOST:PORT`,
    `       ${product.word} sidecar --listen HOST:PORT --key-env NAME -- COMMAND`,
    "",
    ...wrap(
      "Forwards HTTP requests that carry `Authorization: Bearer KEY`; answers 401 to all others.",
    ),
    ...wrap("COMMAND serves on the loopback port that it finds as $PORT, and in place of {port}."),
    "",
    ...wrap("Precedence of settings: flag, variable, file of --config."),
    ...settings,
    "  --config FILE",
    ...wrap('A JSON object of settings: { "keyFile": ["keys"], "drainSeconds": 5 }.', below),
    "",
    "The engine http-proxy, compared with splice:",
    ...Object.values(httpProxyLimits).flatMap((limit) => wrap(limit, "    ", "  - ")),
    "",
    ...wrap(
      "Signals: TERM and INT drain and end, HUP reads the keys again; a command gets all others.",
    ),
  ].join("\n");
}

/** Stands before what is said of a setting. */
const below = "      ";

/** The text in lines that fit, each behind the indent. */
function wrap(text: string, indent = "", first = indent): string[] {
  const lines: string[] = [];
  let line = first;
  for (const word of text.split(" ")) {
    if (line.length + word.length > width) {
      lines.push(line.trimEnd());
      line = indent;
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()];
}
