#!/usr/bin/env bash
# Lets a released program live through a bit of everything, for its database to be kept as a golden one:
#
#     live.sh PROGRAM HOME        with WAKEFUL_DATABASE set, on PostgreSQL
set -euo pipefail
program=$1
export WAKEFUL_HOME=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Calls the program; `may` is a status beside 0 with which it may end.
w() {
    local status=0
    "$program" "$@" >>log 2>&1 || status=$?
    if [ "$status" -ne 0 ] && [ "$status" != "${may:-0}" ]; then
        tail -5 log >&2
        echo "$* ended with $status" >&2
        exit 1
    fi
}

# A value out of what the program says in JSON: value 'it["name"]' COMMAND...
value() {
    local path=$1
    shift
    "$program" "$@" --json 2>>log | python3 -c 'import json, sys; it = json.load(sys.stdin); print(eval(sys.argv[1]))' "$path"
}

cat >priced.yaml <<'Y'
price: { input: 3, output: 15 }
repeat_last: true
rounds:
  - text: "dear"
    usage: { input_tokens: 1000, output_tokens: 100 }
    tools: [{ name: ExecCommand, input: { cmd: "echo one" } }]
  - text: "done"
    usage: { input_tokens: 1000, output_tokens: 100 }
Y
cat >journal.yaml <<'Y'
rounds:
  - tools: [{ name: journal_create_task, input: { title: "Call mum" } }]
  - text: "written down"
Y
cat >parent.yaml <<'Y'
rounds:
  - tools: [{ name: StartRun, input: { agent_id: helper, initial_message: "What is it?" } }]
  - text: "the helper has spoken"
Y
printf 'rounds:\n  - text: "forty-two"\n' >child.yaml

w init --yes --workspace "$work"
for agent in helper other quiet; do w agent create "$agent"; done
cat >"$WAKEFUL_HOME/config.toml" <<T
[announce]
command = ["true"]
[agents.main]
model = "scripted:$work/parent.yaml"
may_start = ["helper"]
[agents.helper]
model = "scripted:$work/child.yaml"
[agents.other]
model = "scripted:$work/priced.yaml"
T

w run "ask the helper" --agent main
w budget set 2
w run "spend" --agent other
w run "write it down" --agent helper --model "scripted:$work/journal.yaml"
may=3 w run "may I" --agent other --ask-tools ExecCommand
w decision answer "$(value 'it["decisions"][0]["decision_id"]' decision list)" approve --note "go on"
w run --resume
may=3 w run "may I again" --agent other --ask-tools ExecCommand
w journal category add gym
w subscribe helper --on TASK --category gym --cooldown 10m --say "plan the week"
w schedule add helper --every 7d --say "a week has passed"
w brake on --agent quiet --reason "not now"
w message quiet "later"

# And with a daemon: what comes from outside, by the clock, and what it announces.
w daemon start --port 0
trigger=$(value 'it["http_addr"]' daemon status)$(value 'it["trigger_path"]' agent trigger show helper)
curl --silent --show-error --fail --data '{"it":"happened"}' --header 'Content-Type: application/json' "$trigger" >>log
w schedule trigger-now "$(value 'it["schedules"][0]["schedule_id"]' schedule list)"
w journal task add "Legs" --category gym
until [ "$(value 'len(it["runs"])' runs list --agent helper)" -ge 4 ] && [ "$(value 'len(it["runs"])' runs list --open)" = 1 ]; do
    sleep 0.1
done
w daemon stop
w verify
