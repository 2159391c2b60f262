# Sourced by the other scripts: where builds and tools are kept between runs.
#
# Outside the clone, so that a fresh clone on the same machine finds its dependencies compiled.

cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/wakeful
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target}
# Tools that `scripts/check setup` had to compile. Last, so that what a person installed comes first.
node_home=$cache/node
export PATH=$PATH:$cache/bin
# A Node.js that `scripts/need node` had to fetch, because the system's is too old, comes before that one.
if [ -x "$node_home/bin/node" ]; then
    export PATH=$node_home/bin:$PATH
fi
