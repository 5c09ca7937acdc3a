#!/usr/bin/env bash
# Runs simulate gate on the scenarios below $SCENARIOS and on what each line of $RENDER prints, compared with the commit $BASE, if there is one.
# Writes the reports to $RUNNER_TEMP/faultline, the annotations to the log, and the status to the step's output.
#
# Names come from whoever opens the pull request. The log runs no workflow commands but the annotations, whose texts are escaped.
set -euo pipefail
out="$RUNNER_TEMP/faultline"
rm -rf "$out"
mkdir -p "$out"
echo "report=$out" >> "$GITHUB_OUTPUT"

token="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
echo "::stop-commands::$token"
trap 'echo "::$token::"' EXIT

args=(--lint "$LINT" --reports "$out")
if [ "$SCENARIOS" != . ]; then args+=("$SCENARIOS"); fi
if [ -n "$BASE" ]; then
  # A pull request is checked out as its merge into the base branch as it is now, and that is what to compare with: the event names an older
  # commit, once others have been merged. Any other checkout is compared with the commit where its branch began, which needs the history.
  merge() { [[ "${GITHUB_REF:-}" == refs/pull/*/merge && "$(git rev-parse HEAD)" == "${GITHUB_SHA:-}" ]]; }
  if merge; then
    git fetch --quiet --depth=2 origin "$GITHUB_SHA" || true
  fi
  if merge && git rev-parse --quiet --verify HEAD^2 > /dev/null; then
    BASE="$(git rev-parse HEAD^1)"
  elif ! git merge-base HEAD "$BASE" > /dev/null 2>&1; then
    git fetch --quiet --unshallow origin 2> /dev/null || true
    git fetch --quiet origin "$BASE"
  fi
  args+=(--base "$BASE" --fail-on "$FAIL_ON")
fi
if [ -n "$CLUSTER" ]; then args+=(--cluster "$CLUSTER"); fi
while IFS= read -r command; do
  if [ -n "$command" ]; then args+=(--render "$command"); fi
done <<< "$RENDER"

status=0
"$BIN/simulate" gate "${args[@]}" || status=$?
trap - EXIT
echo "::$token::"
if [ -e "$out/report.md" ]; then
  cat "$out/annotations.txt"
else
  echo '❌ the gate could not run; the log of the job says why' > "$out/report.md"
fi
cat "$out/report.md" >> "$GITHUB_STEP_SUMMARY"
echo "status=$status" >> "$GITHUB_OUTPUT"
