#!/usr/bin/env bash
# Tests the scenarios below $SCENARIOS, and compares what failures take with the commit $BASE, if there is one. Writes report.md, whose first
# line is the verdict, junit.xml and a SARIF file a scenario to $RUNNER_TEMP/faultline, and the status to the step's output.
#
# Names come from whoever opens the pull request. The log runs no workflow commands meanwhile, and the report shows names as code.
set -euo pipefail
simulate="$BIN/simulate"
out="$RUNNER_TEMP/faultline"
base="$RUNNER_TEMP/base"
rm -rf "$out"
mkdir -p "$out/sarif"
echo "report=$out" >> "$GITHUB_OUTPUT"

token="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
echo "::stop-commands::$token"
trap 'echo "::$token::"' EXIT

scenarios() { # FOLDER: the folders of a checkout that have a scenario, each ending in a NUL
  (cd "$1" && if [ -e "$SCENARIOS" ]; then
    find "$SCENARIOS" -name scenario.yaml -not -path '*/.*' -print0 | sort -z | while IFS= read -r -d '' file; do
      case "$file" in */*) printf '%s\0' "${file%/*}" ;; *) printf '.\0' ;; esac
    done
  fi)
}

fence() { # LEAST: as many backquotes as no run of the standard input has, and at least that many
  awk -v least="$1" '{ while (match($0, /`+/)) { if (RLENGTH >= least) least = RLENGTH + 1; $0 = substr($0, RSTART + RLENGTH) } }
    END { while (least-- > 0) printf "`" }'
}

code() { # NAME: the name as code, on one line
  local name="${1//$'\n'/\\n}" fence
  name="$(printf '%s' "$name" | tr '[:cntrl:]' '?')"
  fence="$(printf '%s' "$name" | fence 1)"
  case "$name" in
    \`* | *\`) printf '%s %s %s' "$fence" "$name" "$fence" ;;
    *) printf '%s%s%s' "$fence" "$name" "$fence" ;;
  esac
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
      3) failed 3 "$(code "$1") is worse than on the base branch" ;;
      *) echo 'It cannot be run.'; failed "$code" "$(code "$1") cannot be run" ;;
    esac
  fi
}

sarif() { # FOLDER: a file for its findings that no other folder has
  local name file n=1
  name="$(printf '%s' "${1#./}" | tr -c 'A-Za-z0-9._-' '-')"
  file="$out/sarif/$name.sarif"
  while [ -e "$file" ]; do n=$((n + 1)); file="$out/sarif/$name-$n.sarif"; done
  printf '%s' "$file"
}

: > "$out/compared.md"
while IFS= read -r -d '' folder; do
  "$simulate" run "$folder" -q --report "sarif=$(sarif "$folder")" > /dev/null || true
  if [ -n "$BASE" ]; then
    printf '\n### %s\n\n' "$(code "$folder")" >> "$out/compared.md"
    compare "$folder" >> "$out/compared.md"
  fi
done < <(scenarios .)
if [ -n "$BASE" ]; then
  while IFS= read -r -d '' folder; do
    if [ ! -e "$folder/scenario.yaml" ]; then
      printf '\n### %s\n\nRemoved: the base branch has this scenario.\n' "$(code "$folder")" >> "$out/compared.md"
    fi
  done < <(scenarios "$base")
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
  if [ "$code" != 0 ]; then
    fence="$(fence 3 < "$out/test.txt")"
    printf '\n%s\n' "$fence"; cat "$out/test.txt"; printf '%s\n' "$fence"
  fi
  cat "$out/compared.md"
} > "$out/report.md"
cat "$out/report.md" >> "$GITHUB_STEP_SUMMARY"
echo "status=$status" >> "$GITHUB_OUTPUT"
