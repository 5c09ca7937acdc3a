#!/usr/bin/env bash
# Tests the scenarios below $SCENARIOS, and compares what failures take with the commit $BASE, if there is one. Writes report.md, whose first
# line is the verdict, junit.xml and a SARIF file a scenario to $RUNNER_TEMP/faultline, and the status to the step's output.
set -euo pipefail
simulate="$BIN/simulate"
out="$RUNNER_TEMP/faultline"
base="$RUNNER_TEMP/base"
mkdir -p "$out/sarif"
echo "report=$out" >> "$GITHUB_OUTPUT"

scenarios() { # the folders of a checkout that have a scenario
  (cd "$1" && if [ -e "$SCENARIOS" ]; then find "$SCENARIOS" -name scenario.yaml -not -path '*/.*' -exec dirname {} \; | sort; fi)
}

status=0
reasons=()
failed() { # STATUS REASON
  if [ "$status" = 0 ]; then status=$1; fi
  reasons+=("$2")
}

code=0
"$simulate" test "$SCENARIOS" --junit "$out/junit.xml" > "$out/test.txt" 2>&1 || code=$?
cat "$out/test.txt"
case "$code" in
  0) ;;
  3) failed 3 'an expectation is not met' ;;
  *) failed "$code" 'a scenario could not be tested' ;;
esac

if [ -n "$BASE" ]; then
  git fetch --quiet --depth=1 origin "$BASE"
  git worktree add --quiet "$base" "$BASE"
fi

compare() { # FOLDER: what differs from the base branch, as Markdown
  if [ ! -e "$base/$1/scenario.yaml" ]; then
    echo 'New: no baseline, so it is compared with nothing.'
  elif ! "$simulate" blast "$base/$1" -o json > "$out/base.json"; then
    echo 'No baseline: the scenario of the base branch cannot be run, so it is compared with nothing.'
  else
    local code=0
    "$simulate" blast "$1" --baseline "$out/base.json" ${FAIL_ON:+--fail-on "$FAIL_ON"} -o markdown || code=$?
    case "$code" in
      0) ;;
      3) failed 3 "$1 is worse than on the base branch" ;;
      *) echo 'It cannot be run.'; failed "$code" "$1 cannot be run" ;;
    esac
  fi
}

: > "$out/compared.md"
while IFS= read -r folder; do
  name="$(printf '%s' "${folder#./}" | tr '/' '-')"
  "$simulate" run "$folder" -q --report "sarif=$out/sarif/$name.sarif" > /dev/null || true
  if [ -n "$BASE" ]; then
    printf '\n### %s\n\n' "$folder" >> "$out/compared.md"
    compare "$folder" >> "$out/compared.md"
  fi
done < <(scenarios .)
if [ -n "$BASE" ]; then
  while IFS= read -r folder; do
    printf '\n### %s\n\nRemoved: the base branch has this scenario.\n' "$folder" >> "$out/compared.md"
  done < <(comm -13 <(scenarios .) <(scenarios "$base"))
fi

{
  if [ "$status" = 0 ]; then
    printf '✅ **Passes**: every expectation is met%s.' "${BASE:+${FAIL_ON:+, and nothing that fails the check is worse than on the base branch}}"
  else
    printf '❌ **Fails**: %s' "${reasons[0]}"
    for reason in "${reasons[@]:1}"; do printf '; %s' "$reason"; done
    printf '.'
  fi
  echo ' <!-- faultline -->' # by which the comment is found again
  if [ "$code" != 0 ]; then printf '\n```\n'; cat "$out/test.txt"; printf '```\n'; fi
  cat "$out/compared.md"
} > "$out/report.md"
cat "$out/report.md" >> "$GITHUB_STEP_SUMMARY"
echo "status=$status" >> "$GITHUB_OUTPUT"
