export type Shell = "bash" | "zsh" | "fish" | "powershell";

/**
 * The completion script of each shell. All ask `outrigger complete =CURRENT WORDS...` (the `=` because some
 * shells drop empty arguments), which prints a word a line, a tab, and what the word means; or `:files`.
 */
export const scripts: Readonly<Record<Shell, string>> = {
  bash: `# Completion of outrigger for bash: source <(outrigger completion bash)
_outrigger() {
  local word=\${COMP_WORDS[COMP_CWORD]} offers
  if [ "$word" = '=' ]; then word=''; fi
  offers=$(outrigger complete "=$word" "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null | cut -f 1)
  if [ "$offers" = :files ]; then COMPREPLY=($(compgen -f -- "$word")); return; fi
  COMPREPLY=($(compgen -W "$offers" -- "$word"))
}
complete -o filenames -F _outrigger outrigger`,
  zsh: `#compdef outrigger
# Completion of outrigger for zsh: outrigger completion zsh > a folder of your fpath/_outrigger
_outrigger() {
  local offers
  offers=$(outrigger complete "=\${words[CURRENT]}" "\${(@)words[2,CURRENT-1]}" 2>/dev/null | cut -f 1)
  if [ "$offers" = :files ]; then _files; return; fi
  compadd -- \${=offers}
}
if [ "\${funcstack[1]-}" = _outrigger ]; then _outrigger "$@"; else compdef _outrigger outrigger; fi`,
  fish: `# Completion of outrigger for fish: save as ~/.config/fish/completions/outrigger.fish
function __outrigger_offers
  set -l current (commandline -ct)
  set -l before (commandline -opc)
  set -l offers (outrigger complete "=$current" $before[2..-1] 2>/dev/null)
  if test "$offers" = :files
    __fish_complete_path $current
  else
    printf '%s\\n' $offers
  end
end
complete -c outrigger -f -a '(__outrigger_offers)'`,
  powershell: `# Completion of outrigger for PowerShell: outrigger completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName outrigger -ScriptBlock {
  param($current, $ast, $cursor)
  $before = @($ast.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { $_.Extent.Text })
  $offers = @(& outrigger complete "=$current" $before 2>$null)
  # Without an offer PowerShell completes files.
  if ($offers -contains ':files') { return }
  foreach ($offer in $offers) {
    $word, $means = $offer -split "\`t", 2
    if (-not $means) { $means = $word }
    [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $means)
  }
}`,
};
