#!/bin/sh
# One image from a prompt: price, submit, wait, download.
# Usage: generate.sh PROMPT FILE
set -eu

prompt=${1:?Usage: generate.sh PROMPT FILE}
file=${2:?Usage: generate.sh PROMPT FILE}
: "${FAREBOX_API_KEY:?Set FAREBOX_API_KEY to your key.}"
base=${FAREBOX_BASE_URL:-http://localhost:8080/v1}
model=${MODEL:-sandbox/canvas/text-to-image}
most=${MAX_USD_MICRO:-1000000}
job=${IDEMPOTENCY_KEY:-$(date +%s)-$$}

reply=$(mktemp)
trap 'rm -f "$reply" "$file.part"' EXIT

# call PATH [curl's options]: prints the reply's body, and ends the script if the call fails.
# Temporary failures (429, 503, a lost connection) are retried after Retry-After. The key is given on
# standard input, because every user of the machine can see arguments.
call() {
  path=$1
  shift
  printf 'Authorization: Key %s\n' "$FAREBOX_API_KEY" |
    curl -sS --fail-with-body --retry 4 --retry-connrefused -H @- -o "$reply" "$@" "$base$path" || {
    cat "$reply" >&2
    exit 1
  }
  cat "$reply"
}

# field NAME: the first string with that name in the JSON on standard input.
field() {
  tr ',{' '\n\n' | sed -n "s/^[[ ]*\"$1\":[ ]*\"\([^\"]*\)\".*/\1/p" | head -n 1
}

# json TEXT: the text as a JSON string.
json() {
  printf '"%s"' "$(printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g' | tr '\n\t' '  ')"
}

# Without a resolution the price of the most expensive one is reserved.
input="{\"prompt\": $(json "$prompt"), \"resolution\": \"1k\"}"

priced=$(call /estimate -H 'Content-Type: application/json' \
  -d "{\"model_id\": $(json "$model"), \"input\": $input}")
price=$(printf '%s' "$priced" | field price_usd_micro)
echo "price: $price millionths of a dollar"
if [ "$price" -gt "$most" ]; then
  echo "The price is above $most. Nothing was submitted." >&2
  exit 1
fi

queued=$(call "/queue/$model" -H 'Content-Type: application/json' -H "Idempotency-Key: $job" \
  -d "$input")
request=$(printf '%s' "$queued" | field request_id)
echo "request: $request"

while :; do
  told=$(call "/requests/$request/status?wait=60&until=final")
  status=$(printf '%s' "$told" | field status)
  echo "status: $status"
  case $status in
    COMPLETED) break ;;
    FAILED | CANCELLED)
      printf '%s\n' "$told" >&2
      exit 1
      ;;
  esac
done

output=$(call "/requests/$request/response")
url=$(printf '%s' "$output" | field url)
curl -sS --fail --retry 4 -o "$file.part" "$url"
mv "$file.part" "$file"
card=$(call "/requests/$request")
echo "charged: $(printf '%s' "$card" | field charged_usd_micro)"
echo "written: $file"
