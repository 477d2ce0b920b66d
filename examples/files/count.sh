#!/bin/bash
# Counts the lines of the files that it is given, with the greeting of its settings.
set -eu
source ~/.config/count.conf
echo "$GREETING from rank $OUTRIGGER_NODE_RANK: $(cat "$@" | wc -l) lines in $# files"
