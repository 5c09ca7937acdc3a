#!/usr/bin/env bash
# Writes the report as a comment on the pull request $NUMBER, or edits the one that is there. A fork's token may only read: then the job's
# summary, which has the report in any case, has to do.
set -euo pipefail
report="$RUNNER_TEMP/faultline/report.md"
body="$RUNNER_TEMP/faultline/comment.md"
# A comment has at most 65,536 characters.
awk '{ n += length($0) + 1 } n > 60000 { print "\n… The rest is in the summary of the job."; exit } { print }' "$report" > "$body"

write() {
  local id
  id=$(gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments" \
    --jq '.[] | select(.user.type == "Bot" and (.body | contains("<!-- faultline -->"))) | .id') || return
  id="${id%%$'\n'*}" # the first
  if [ -n "$id" ]; then
    gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" --field "body=@$body"
  else
    gh api --silent --method POST "repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments" --field "body=@$body"
  fi
}

if ! write; then
  echo '::notice::The comment could not be written: the token may only read, as on a pull request from a fork. The report is in the summary of this job.'
fi
