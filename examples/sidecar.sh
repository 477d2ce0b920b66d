#!/bin/sh
# A file server that answers only to a key: `sh examples/sidecar.sh`. Needs Python 3 and curl.
set -eu
cd "$(dirname "$0")/.."

export API_KEY=example-key
port=${PORT:-8080}
bin/outrigger sidecar --listen "127.0.0.1:$port" --key-env API_KEY --access-log off --log-level warn -- \
  python3 -m http.server --bind 127.0.0.1 --directory examples '{port}' > /dev/null 2>&1 &
trap 'kill $! && wait $! || true' EXIT

url=http://127.0.0.1:$port/hello.yaml
curl --silent --output /dev/null --retry 50 --retry-delay 0 --retry-connrefused --retry-all-errors --fail \
  --header "Authorization: Bearer $API_KEY" "$url"

echo "without a key:"
curl --silent --write-out ' %{http_code}\n' "$url"
echo "with the key:"
curl --silent --header "Authorization: Bearer $API_KEY" "$url" | head -n 1
