#!/usr/bin/env bash
# Writes the report as a comment on the pull request $NUMBER, or edits the one that is there. A fork's token may only read: then the job's
# summary, which has the report in any case, has to do.
set -euo pipefail
report="$RUNNER_TEMP/faultline/report.md"
body="$RUNNER_TEMP/faultline/comment.md"
# The marker in the first line tells the comment from others. A comment has at most 65,536 characters. What is cut off ends no block of code that has begun.
awk 'NR == 1 { $0 = $0 " <!-- faultline -->" }
  { n += length($0) + 1 }
  n > 60000 { if (fence) print fence; print "\n… The rest is in the summary of the job."; exit }
  /^```+$/ && (!fence || $0 == fence) { fence = fence ? "" : $0 }
  { print }' "$report" > "$body"

# The comment is the action's own if its token's user wrote it and its first line ends in the marker: others can quote it.
ours='.[] | select(.user.login == "github-actions[bot]" and (.body // "" | split("\n")[0] // "" | rtrimstr("\r") | endswith("<!-- faultline -->"))) | .id'

write() {
  local id
  id=$(gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments" \
    --jq "$ours") || return
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
