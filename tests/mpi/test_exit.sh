#!/bin/bash
# Programs over MPI end by themselves, with the status that they end with. usage: test_exit.sh MPIRUN PROGRAM
set -u
mpirun=$1 program=$2

# usage: expect STATUS HOW; a negative status: any but 0. What hangs is ended.
expect() {
  local begin=$SECONDS said
  said=$(timeout 900 "$mpirun" --oversubscribe -n 3 "$program" "$2" 2>&1)
  local status=$?
  if ((status == 124)) || { (($1 >= 0 && status != $1)) || (($1 < 0 && status == 0)); }; then
    echo "not so: '$2' ends with $1: it was $status after $((SECONDS - begin)) s"
    echo "$said"
    exit 1
  fi
  if (($1 == 0)) && [[ $said == *"exiting improperly"* ]]; then
    echo "not so: '$2' ends properly"
    echo "$said"
    exit 1
  fi
  echo "$2: $status"
}

expect 0 forgets
expect 3 fails
expect 0 forks
expect -1 leaves
expect -1 "forgets after a failure"
