#!/bin/sh
# Run Monty without the host's standard error. Monty's client leaves that to its workers, which write
# to it when they end themselves: over the memory limit, or in a panic.
#
# The client passes a worker neither arguments nor variables of ours, so the path by which this
# script is called says where Monty is: FOLDER/../PATH/quiet_worker.sh runs FOLDER/monty.
exec "${0%%/../*}/monty" "$@" 2>/dev/null
