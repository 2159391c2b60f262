# Sourced by the other scripts: the folders for build output and tools.
#
# They are outside the clone, so that a fresh clone on the same machine reuses compiled dependencies.

cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/wakeful
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target}
# Tools that `scripts/check setup` compiled. Last in PATH, so that installed tools take precedence.
node_home=$cache/node
export PATH=$PATH:$cache/bin
# A Node.js that `scripts/need node` fetched, because the system's is too old, takes precedence over it.
if [ -x "$node_home/bin/node" ]; then
    export PATH=$node_home/bin:$PATH
fi
