# Made by deploy/completions/generate.
complete -c rolter -n __fish_use_subcommand -f -a serve -d 'Run the gateway'
complete -c rolter -n __fish_use_subcommand -f -a check -d 'Check a configuration file and sum it up'
complete -c rolter -n __fish_use_subcommand -f -a explain -d 'Say where a request'
complete -c rolter -n __fish_use_subcommand -f -a drain -d 'Take a provider of a running gateway out of every comparison'
complete -c rolter -n __fish_use_subcommand -f -a top -d 'Show a running gateway\'s replicas in the terminal'
complete -c rolter -n __fish_use_subcommand -f -a demo -d 'Compare strategies on simulated replicas'
complete -c rolter -n __fish_use_subcommand -f -a replay -d 'Compare strategies on a trace and a fleet in virtual time'
complete -c rolter -n __fish_use_subcommand -f -a sim-engine -d 'Run a simulated vLLM replica'
complete -c rolter -n '__fish_seen_subcommand_from serve' -s h -l help
complete -c rolter -n '__fish_seen_subcommand_from serve' -s c -l config -r -F
complete -c rolter -n '__fish_seen_subcommand_from serve' -l host -r
complete -c rolter -n '__fish_seen_subcommand_from serve' -l port -r
complete -c rolter -n '__fish_seen_subcommand_from serve' -l loops -r
complete -c rolter -n '__fish_seen_subcommand_from check' -s h -l help
complete -c rolter -n '__fish_seen_subcommand_from check' -s c -l config -r -F
complete -c rolter -n '__fish_seen_subcommand_from check' -l live
complete -c rolter -n '__fish_seen_subcommand_from check' -l json
complete -c rolter -n '__fish_seen_subcommand_from explain' -s h -l help
complete -c rolter -n '__fish_seen_subcommand_from explain' -s c -l config -r -F
complete -c rolter -n '__fish_seen_subcommand_from explain' -l url -r
complete -c rolter -n '__fish_seen_subcommand_from explain' -l token-env -r
complete -c rolter -n '__fish_seen_subcommand_from explain' -l path -r
complete -c rolter -n '__fish_seen_subcommand_from explain' -l session -r
complete -c rolter -n '__fish_seen_subcommand_from explain' -l json
complete -c rolter -n '__fish_seen_subcommand_from explain' -l text
complete -c rolter -n '__fish_seen_subcommand_from drain' -s h -l help
complete -c rolter -n '__fish_seen_subcommand_from drain' -l wait
complete -c rolter -n '__fish_seen_subcommand_from drain' -l undo
complete -c rolter -n '__fish_seen_subcommand_from drain' -s c -l config -r -F
complete -c rolter -n '__fish_seen_subcommand_from drain' -l url -r
complete -c rolter -n '__fish_seen_subcommand_from drain' -l token-env -r
complete -c rolter -n '__fish_seen_subcommand_from top' -s h -l help
complete -c rolter -n '__fish_seen_subcommand_from top' -s c -l config -r -F
complete -c rolter -n '__fish_seen_subcommand_from top' -l url -r
complete -c rolter -n '__fish_seen_subcommand_from top' -l token-env -r
complete -c rolter -n '__fish_seen_subcommand_from top' -l once
complete -c rolter -n '__fish_seen_subcommand_from top' -l interval -r
complete -c rolter -n '__fish_seen_subcommand_from demo' -s h -l help
complete -c rolter -n '__fish_seen_subcommand_from demo' -l replicas -r
complete -c rolter -n '__fish_seen_subcommand_from demo' -l seconds -r
complete -c rolter -n '__fish_seen_subcommand_from demo' -l strategy -r
complete -c rolter -n '__fish_seen_subcommand_from demo' -l trace -r
complete -c rolter -n '__fish_seen_subcommand_from demo' -l token-ids
complete -c rolter -n '__fish_seen_subcommand_from demo' -l json
complete -c rolter -n '__fish_seen_subcommand_from demo' -l users -r
complete -c rolter -n '__fish_seen_subcommand_from demo' -l trace-speedup -r
complete -c rolter -n '__fish_seen_subcommand_from demo' -l blocks -r
complete -c rolter -n '__fish_seen_subcommand_from demo' -l seed -r
complete -c rolter -n '__fish_seen_subcommand_from replay' -s h -l help
complete -c rolter -n '__fish_seen_subcommand_from replay' -l gen -r
complete -c rolter -n '__fish_seen_subcommand_from replay' -l load -r
complete -c rolter -n '__fish_seen_subcommand_from replay' -l session-rate -r
complete -c rolter -n '__fish_seen_subcommand_from replay' -l settle -r
complete -c rolter -n '__fish_seen_subcommand_from replay' -l seed -r
complete -c rolter -n '__fish_seen_subcommand_from replay' -l strategy -r
complete -c rolter -n '__fish_seen_subcommand_from replay' -l replicas -r
complete -c rolter -n '__fish_seen_subcommand_from replay' -l blocks -r
complete -c rolter -n '__fish_seen_subcommand_from replay' -l prefill-tps -r
complete -c rolter -n '__fish_seen_subcommand_from replay' -l max-in-flight -r
complete -c rolter -n '__fish_seen_subcommand_from replay' -l index-lag -r
complete -c rolter -n '__fish_seen_subcommand_from replay' -l no-events
complete -c rolter -n '__fish_seen_subcommand_from replay' -l no-cached-tokens
complete -c rolter -n '__fish_seen_subcommand_from replay' -l believed-blocks -r
complete -c rolter -n '__fish_seen_subcommand_from replay' -l no-replies
complete -c rolter -n '__fish_seen_subcommand_from replay' -l sweep -r
complete -c rolter -n '__fish_seen_subcommand_from replay' -l json
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -s h -l help
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l port -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l model -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l host -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l adapters -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l blocks -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l block-size -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l prefill-tps -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l decode-tps -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l max-running -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l max-queued -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l step-tokens -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l max-model-len -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l dp-size -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l seed -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l shutdown-timeout -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l kv-events -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l kv-replay -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l kv-topic -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l kv-encoding -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l kv-hashes -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l kv-buffer-steps -r
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l no-prompt-tokens-details
complete -c rolter -n '__fish_seen_subcommand_from sim-engine' -l request-id-headers
