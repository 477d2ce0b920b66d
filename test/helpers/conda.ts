/**
 * Shell text that installs a conda with an environment `train`, and has `~/.bashrc` begin with it below what Debian
 * puts there, as `conda init bash` does. Source: docs.conda.io, "conda init and conda activate".
 */
export const installConda = (root: string): string => `
set -e
mkdir -p "${root}"/bin "${root}"/condabin "${root}"/etc/profile.d "${root}"/envs/train/bin
cat > "${root}/etc/profile.d/conda.sh" <<'END'
export CONDA_EXE='${root}/bin/conda'
export _CE_M=''
export _CE_CONDA=''
__conda_exe() ( "$CONDA_EXE" $_CE_M $_CE_CONDA "$@" )
__conda_hashr() { hash -r; }
__conda_activate() {
    \\local ask_conda
    ask_conda="$(PS1="\${PS1:-}" __conda_exe shell.posix "$@")" || \\return
    \\eval "$ask_conda"
    __conda_hashr
}
conda() {
    \\local cmd="\${1-__missing__}"
    case "$cmd" in
        activate|deactivate) __conda_activate "$@" ;;
        *) __conda_exe "$@" ;;
    esac
}
if [ -z "\${CONDA_SHLVL+x}" ]; then
    \\export CONDA_SHLVL=0
    PATH="${root}/condabin:$PATH"
fi
END
cat > "${root}/bin/conda" <<'END'
#!/bin/sh
case "$1 $2" in
"shell.bash hook") cat "${root}/etc/profile.d/conda.sh"; echo 'conda activate base' ;;
"shell.posix activate")
    [ "$3" = base ] && prefix=${root} || prefix=${root}/envs/$3
    printf '%s\\n' "PS1='($3) '" "export PATH='$prefix/bin:$PATH'" "export CONDA_PREFIX='$prefix'" "export CONDA_SHLVL='$((CONDA_SHLVL + 1))'" "export CONDA_DEFAULT_ENV='$3'"
    ;;
*) exit 1 ;;
esac
END
printf '#!/bin/sh\\necho of the environment\\n' > "${root}/envs/train/bin/trainer"
chmod +x "${root}/bin/conda" "${root}/envs/train/bin/trainer"
cat >> ~/.bashrc <<'END'
case $- in *i*) ;; *) return ;; esac
# >>> conda initialize >>>
# !! Contents within this block are managed by 'conda init' !!
__conda_setup="$('${root}/bin/conda' 'shell.bash' 'hook' 2> /dev/null)"
if [ $? -eq 0 ]; then
    eval "$__conda_setup"
else
    if [ -f "${root}/etc/profile.d/conda.sh" ]; then
        . "${root}/etc/profile.d/conda.sh"
    else
        export PATH="${root}/bin:$PATH"
    fi
fi
unset __conda_setup
# <<< conda initialize <<<
END`;

/** What uses it, and what that prints. */
export const condaRun =
  'echo "$CONDA_DEFAULT_ENV"; conda activate train; trainer; echo "$CONDA_DEFAULT_ENV"';
export const condaSays = "base\nof the environment\ntrain\n";
