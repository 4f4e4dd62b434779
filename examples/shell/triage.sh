#!/bin/sh
# The bot under test: labels the open issues of a project that have no label.
# Usage: GITLAB_URL=… GITLAB_TOKEN=… triage.sh PROJECT
set -eu
project="$GITLAB_URL/api/v4/projects/$(printf %s "$1" | sed 's|/|%2F|g')"
authorization="private-token: $GITLAB_TOKEN"
curl -sSf -H "$authorization" "$project/issues?state=opened&labels=None&per_page=100" |
  grep -o '"iid":[0-9]*' | cut -d: -f2 |
  while read -r iid; do
    curl -sSf -o /dev/null -X PUT -H "$authorization" -d labels=triage "$project/issues/$iid"
  done
