//! Tests that everyday programs work in the sandbox. A program that this machine lacks is skipped.

use std::process::Command;

use wakeful_tools::DisabledFeatures;

use crate::fixture::{ToolFixture, WAYS};

fn is_there(program: &str) -> bool {
    Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Runs a script in both kinds of containment, if its program exists, and expects `done` as its last line.
#[track_caller]
fn works(program: &str, script: &str) {
    works_at(&WAYS, program, script);
}

#[track_caller]
fn works_at(levels: &[DisabledFeatures], program: &str, script: &str) {
    for level in levels.iter().filter(|_| is_there(program)) {
        let seen = ToolFixture::at(*level).run(script).ok();
        assert!(seen.stdout().ends_with("done\n"), "{program}: {}", seen.json);
    }
}

#[test]
fn a_shell_and_the_core_utilities_work() {
    works(
        "bash",
        "bash -c 'set -euo pipefail; mkfifo pipe; (echo through > pipe &) ; cat pipe; mkdir -p a/b; touch a/b/c; \
         cp -a a d; mv d e; ln -s a link; chmod -R go-w e; chmod +x a/b/c; chmod 1777 e; find . -type f -print0 | xargs -0 ls -la >list; \
         sort list | uniq | head -3 | tee out >/dev/null; stat list >/dev/null; df . >/dev/null; timeout 5 nice sleep 0; \
         cat <(echo one) <(echo two) | sed s/one/1/; sync list; rm -rf a e; echo done'",
    );
}

#[test]
fn git_works() {
    works(
        "git",
        "export HOME=$PWD; git init -q repo && cd repo && git config user.email a@b && git config user.name n && \
         echo one > f && git add f && git commit -qm one && git checkout -qb other && echo two >> f && git commit -qam two && \
         git checkout -q - && git merge -q other && git gc -q && git clone -q . ../clone && git log --oneline | wc -l && \
         git stash list && git status -s && git fsck && echo done",
    );
}

#[test]
fn tar_and_compression_work() {
    works(
        "tar",
        "mkdir -p t/u && echo x > t/u/f && chmod 640 t/u/f && tar czf t.tgz t && rm -r t && tar xpzf t.tgz && cat t/u/f && \
         tar cf - t | gzip | gunzip | tar tf - && echo done",
    );
}

#[test]
fn gcc_and_make_work() {
    works(
        "gcc",
        "printf '#include <stdio.h>\\n#include <pthread.h>\\nstatic void *f(void *p){return p;}\\n\
         int main(void){pthread_t t; return pthread_create(&t,0,f,0)||pthread_join(t,0)||puts(\"done\")<0;}\\n' > a.c && \
         printf 'all: a b\\na: a.c\\n\\tgcc -pthread -o a a.c\\nb: a.c\\n\\tgcc -c -o b a.c\\n' > Makefile && \
         if command -v make > /dev/null; then make -s -j2; else gcc -pthread -o a a.c; fi && ./a",
    );
}

#[test]
fn cargo_builds_offline() {
    works_at(
        &[DisabledFeatures::default()],
        "cargo",
        "export CARGO_HOME=$TMPDIR/cargo CARGO_TARGET_DIR=$PWD/target; cargo init -q --vcs none --name done hello && cd hello && \
         printf 'fn main(){std::thread::spawn(||println!(\"done\")).join().unwrap()}' > src/main.rs && cargo run -q --offline",
    );
}

#[test]
fn python_works() {
    works(
        "python3",
        "cat > a.py <<'END'
import asyncio, os, shutil, sqlite3, subprocess, sys, tempfile, threading, urllib.parse
from concurrent.futures import ThreadPoolExecutor
assert list(ThreadPoolExecutor(4).map(lambda x: x * x, range(8)))[-1] == 49
assert subprocess.run(['echo', 'sub'], capture_output=True, text=True).stdout == 'sub\\n'
async def main():
    p = await asyncio.create_subprocess_exec('echo', 'async', stdout=subprocess.PIPE)
    return (await p.communicate())[0]
assert asyncio.run(main()) == b'async\\n'
db = sqlite3.connect('db'); db.execute('pragma journal_mode=wal'); db.execute('create table t(x)'); db.commit(); db.close()
with tempfile.TemporaryDirectory() as d:
    shutil.copytree('.', os.path.join(d, 'copy'))
print('done')
END
python3 a.py",
    );
}

#[test]
fn python_multiprocessing_works() {
    // Its semaphores are files in /dev/shm, which a command has only in a mount namespace.
    works_at(
        &[DisabledFeatures::default()],
        "python3",
        "cat > a.py <<'END'
import multiprocessing as m
from multiprocessing.shared_memory import SharedMemory
def f(x): return x + 1
if __name__ == '__main__':
    for way in ('fork', 'spawn', 'forkserver')[:2]:
        with m.get_context(way).Pool(2) as pool: assert pool.map(f, range(4)) == [1, 2, 3, 4]
    s = SharedMemory(create=True, size=64); s.buf[0] = 1; s.close(); s.unlink()
    print('done')
END
python3 a.py",
    );
}

#[test]
fn node_works() {
    works(
        "node",
        "cat > a.js <<'END'
const { Worker, isMainThread, parentPort } = require('worker_threads');
const fs = require('fs'), cp = require('child_process');
if (!isMainThread) parentPort.postMessage(1);
else if (process.argv[2] === 'child') process.send('hello', () => process.disconnect());
else (async () => {
  await new Promise((ok, no) => new Worker(__filename).on('message', ok).on('error', no));
  await new Promise((ok, no) => cp.fork(__filename, ['child']).on('message', ok).on('error', no));
  fs.mkdirSync('d/e', { recursive: true }); await fs.promises.writeFile('d/e/f', 'x');
  fs.cpSync('d', 'g', { recursive: true }); fs.copyFileSync('d/e/f', 'h'); fs.watch('d').close();
  fs.rmSync('d', { recursive: true });
  if (cp.execSync('echo sub').toString() !== 'sub\\n') throw 1;
  console.log('done');
})();
END
node a.js",
    );
}

#[test]
fn sqlite_and_perl_work() {
    works(
        "sqlite3",
        "sqlite3 db 'pragma journal_mode=wal; create table t(x); insert into t values(1); select * from t;' && echo done",
    );
    works(
        "perl",
        "perl -e 'system(q(true)) == 0 or die; my $p = fork // die; exit 0 unless $p; waitpid $p, 0; print qq(done\\n)'",
    );
}
