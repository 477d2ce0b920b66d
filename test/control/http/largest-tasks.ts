const count = (length: number, line: (at: number) => string): string =>
  Array.from({ length }, (_, at) => line(at)).join("");

/** Tasks that are as large as one can be, each in another way. */
export const largestTasks: Readonly<Record<string, string>> = {
  "a long script": `run: |\n${"  echo hello\n".repeat(40_000)}`,
  "many variables": `run: 'true'\nenvs:\n${count(2_000, (at) => `  V${at}: ${at}\n`)}`,
  "many secrets": `run: 'true'\nsecrets:\n${count(2_000, (at) => `  V${at}: x${at}\n`)}`,
  "many files": `run: 'true'\nfile_mounts:\n${count(2_000, (at) => `  /tmp/f${at}: ./f${at}\n`)}`,
  "many candidates": `run: 'true'\nresources:\n  any_of:\n${count(256, (at) => `  - {cpus: ${at + 1}}\n`)}`,
  "many accelerators": `run: 'true'\nresources: {accelerators: {${count(256, (at) => `A${at}: 1, `)}}}`,
  "many ports": `run: 'true'\nresources: {ports: [${count(2_000, (at) => `${at * 3 + 1}, `)} 7000-65535]}`,
  "many labels": `run: 'true'\nresources: {labels: {${count(2_000, (at) => `l${at}: x, `)}}}`,
  "many hooks": `run: 'true'\nconfig:\n  hooks:\n${count(32, () => `  - {run: "${"x".repeat(15_000)}", events: [stop]}\n`)}`,
  "many aliases": `run: 'true'\nenvs: {A: &a x, ${count(1_990, (at) => `V${at}: *a, `)}}`,
};
