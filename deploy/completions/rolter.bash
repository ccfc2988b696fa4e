# Made by deploy/completions/generate.
_rolter() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words
  if [[ $previous == -c || $previous == --config ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    return
  fi
  case ${COMP_WORDS[1]} in
    serve) words='-h --help -c --config --host --port --loops' ;;
    check) words='-h --help -c --config --live --json' ;;
    explain) words='-h --help -c --config --url --token-env --path --session --json --text' ;;
    drain) words='-h --help --wait --undo -c --config --url --token-env' ;;
    top) words='-h --help -c --config --url --token-env --once --interval' ;;
    demo) words='-h --help --replicas --seconds --strategy --trace --token-ids --json --users --trace-speedup --blocks --seed' ;;
    replay) words='-h --help --gen --load --session-rate --settle --seed --strategy --replicas --blocks --prefill-tps --max-in-flight --index-lag --no-events --no-cached-tokens --believed-blocks --no-replies --sweep --json' ;;
    sim-engine) words='-h --help --port --model --host --adapters --blocks --block-size --prefill-tps --decode-tps --max-running --max-queued --step-tokens --max-model-len --dp-size --seed --shutdown-timeout --kv-events --kv-replay --kv-topic --kv-encoding --kv-hashes --kv-buffer-steps --no-prompt-tokens-details --request-id-headers' ;;
    *) words='serve check explain drain top demo replay sim-engine --help --version' ;;
  esac
  [[ $COMP_CWORD -gt 1 ]] || words='serve check explain drain top demo replay sim-engine --help --version'
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _rolter rolter
