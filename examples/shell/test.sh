#!/bin/sh
# Tests triage.sh against a GitLab of its own, and that Git clones from it.
set -eu
cd "$(dirname "$0")"
folder=$(mktemp -d)
ready=$folder/ready.json
${PM_CLI:-npx --yes pm-api} test --seed seed.json > "$ready" &
server=$!
trap 'kill $server; rm -rf "$folder"' EXIT
until [ -s "$ready" ]; do
  kill -0 $server
  sleep 0.1
done
value() { sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/" "$ready"; }

GITLAB_URL=$(value url) GITLAB_TOKEN=$(value ada) ./triage.sh acme/site

differences=$(curl -sS "$(value control)changes/expect" -d '{
  "only": true,
  "updated": [{ "type": "issue", "path": "acme/site#1", "changes": { "labels": [[], ["triage"]] } }]
}')
[ "$differences" = '{"ok":true,"differences":[]}' ] || { echo "$differences" >&2; exit 1; }

git init -q -b main "$folder/site"
cd "$folder/site"
git -c user.name=Ada -c user.email=ada@example.com commit -q --allow-empty -m "Begin the site"
url="$(value url | sed "s|://|://ada:$(value ada)@|")/acme/site.git"
git push -q "$url" main
[ "$(git ls-remote "$url" main | cut -f1)" = "$(git rev-parse main)" ]
echo passed
