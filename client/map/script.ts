import { envNames } from "../../common/product.ts";
import type { Range } from "./ranges.ts";

/** Where the inputs lie on a worker. Jobs that bring other files do not share it. */
export const inputsOnWorker = "~/.outrigger-map/inputs";

/** More does not fit into the log of a job, line by line. */
export const largestResultBytes = 64 * 1024;
/** A variable has at most 128 KiB on Linux, and a character at most 4 bytes. */
const longestVariable = 30_000;

/**
 * The script that runs `run` once for each input of its job's chunk, one after the other, and prints what became of
 * each: a line with the tag, which `readRecords` reads.
 */
export const scriptOf = (run: string, tag: string, chunks: readonly (readonly Range[])[]): string =>
  `set +e
map=$(mktemp -d) || exit 1
trap 'rm -rf "$map"' EXIT
cat > "$map/run" <<'${tag}-run'
${run.trimEnd()}
${tag}-run
chunks=(${chunks.map((ranges) => `'${sedOf(ranges)}'`).join(" ")})
sed -n "\${chunks[$OUTRIGGER_JOB_RANK]}" ${inputsOnWorker} > "$map/inputs" || exit 1
failed=0
while read -r line <&3; do
  IFS= read -r input <&3
  index=$((line - 1))
  printf %s "$input" > "$map/input"
  [ \${#input} -le ${longestVariable} ] || input=
  rm -rf "$map/result"
  echo "${tag} $index begin"
  (
    ${exportOf("MAP_INDEX", "$index")}
    ${exportOf("MAP_INPUT", "$input")}
    ${exportOf("MAP_INPUT_FILE", "$map/input")}
    ${exportOf("MAP_RESULT_FILE", "$map/result")}
    exec bash "$map/run"
  ) < /dev/null 3<&-
  code=$?
  [ -e "$map/result" ] || : > "$map/result"
  size=$(($(wc -c < "$map/result")))
  if [ $code != 0 ]; then
    echo "${tag} $index exit $code"
  elif [ $size -gt ${largestResultBytes} ]; then
    code=1
    echo "${tag} $index large $size"
  else
    echo "${tag} $index result $size $(base64 < "$map/result" | tr -d '\\n')"
  fi
  [ $code = 0 ] || failed=1
done 3< "$map/inputs"
exit $failed
`;

/** A program for sed that prints the lines of ranges, each behind its number. */
const sedOf = (ranges: readonly Range[]): string =>
  ranges.map(([first, last]) => `${first + 1},${last + 1}{=;p;}`).join(";");

const exportOf = (suffix: string, value: string): string =>
  `export ${envNames(suffix)
    .map((name) => `${name}="${value}"`)
    .join(" ")}`;
