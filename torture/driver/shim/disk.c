// A disk that can lose power and make errors, between one program and its file system (LD_PRELOAD).
//
// DISK_ROOT    the folder whose files are on this disk; everything else passes untouched.
// DISK_JOURNAL a folder outside of it. Then every change is written down there before it is made, with what was
//              there before, and a sync is written down when it has ended. Whoever cuts the power kills the program
//              and takes back, by that journal, what no sync had made durable. The syncs themselves are not passed
//              on: the machine stays up, so the journal is all that counts.
// DISK_SYNC_US how long a sync takes, so that a program can be killed in the middle of one.
//
// Without a journal the calls on the disk's files go on to the next library, where libfiu may let them fail; calls
// on sockets and pipes go straight to the kernel, because a disk that fails does not break those.
//
// Seen are the calls that SQLite and Rust's standard library make. A shared writable mapping would not be seen, so
// one of them ends the program; SQLite's `-shm` is exempt, because after a power cut nobody reads it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))next(#name))
#define OLD_MAX (64UL << 20)

// What the reader of the journal expects before the two paths and the two contents. All numbers as the machine has them.
struct head {
    uint32_t magic;
    uint32_t kind;
    uint64_t file;
    uint64_t at;
    uint64_t size;
    uint32_t path_len;
    uint32_t other_len;
    uint32_t old_len;
    uint32_t new_len;
};

static const char *root;
static size_t root_len;
static const char *journal;
static int journal_fd = -1;
static unsigned sync_us;
static uint64_t written;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

static void give_up(const char *why) {
    dprintf(2, "disk.so: %s: %s\n", why, strerror(errno));
    abort();
}

static void set_up(void) {
    if (root) return;
    const char *wanted = getenv("DISK_ROOT");
    journal = getenv("DISK_JOURNAL");
    const char *us = getenv("DISK_SYNC_US");
    sync_us = us ? (unsigned)atoi(us) : 0;
    if (journal) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/journal", journal);
        journal_fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (journal_fd < 0) give_up("no journal");
    }
    root_len = wanted ? strlen(wanted) : 0;
    root = wanted ? wanted : "";
}

__attribute__((constructor)) static void begin(void) { set_up(); }

static int below_root(const char *path) {
    size_t len = strlen(path);
    return root_len && len >= root_len && !memcmp(path, root, root_len) && (path[root_len] == '/' || !path[root_len]) &&
           !(len > 4 && !strcmp(path + len - 4, "-shm"));
}

// The absolute path of what a call names, without asking whether it is there.
static int resolve(int folder, const char *path, char *out) {
    if (path[0] == '/') {
        snprintf(out, PATH_MAX, "%s", path);
        return below_root(out);
    }
    char link[64], base[PATH_MAX];
    if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t len = readlink(link, base, sizeof base - 1);
    if (len < 0) return 0;
    base[len] = 0;
    if (snprintf(out, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) return 0;
    return below_root(out);
}

// Whether a descriptor is open on the disk; its path and what it is.
static int on_disk(int fd, char *path, struct stat *st) {
    set_up();
    if (!root_len || syscall(SYS_fstat, fd, st) || !(S_ISREG(st->st_mode) || S_ISDIR(st->st_mode))) return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, PATH_MAX - 1);
    if (len < 0) return 0;
    path[len] = 0;
    return below_root(path);
}

static void put(char kind, uint64_t file, uint64_t at, uint64_t size, const char *path, const char *other, const void *old,
                size_t old_len, const struct iovec *new, int parts) {
    size_t new_len = 0;
    for (int i = 0; i < parts; i++) new_len += new[i].iov_len;
    struct head head = {0x4b534944, (uint32_t)kind, file, at, size, 0, 0, (uint32_t)old_len, (uint32_t)new_len};
    head.path_len = path ? (uint32_t)strlen(path) : 0;
    head.other_len = other ? (uint32_t)strlen(other) : 0;
    size_t whole = sizeof head + head.path_len + head.other_len + old_len + new_len;
    char *buffer = malloc(whole), *to = buffer;
    if (!buffer) give_up("no memory");
    to = mempcpy(to, &head, sizeof head);
    if (path) to = mempcpy(to, path, head.path_len);
    if (other) to = mempcpy(to, other, head.other_len);
    if (old_len) to = mempcpy(to, old, old_len);
    for (int i = 0; i < parts; i++) to = mempcpy(to, new[i].iov_base, new[i].iov_len);
    // One call, so that a kill in the middle leaves one unfinished record at the end and nothing else.
    if (syscall(SYS_write, journal_fd, buffer, whole) != (ssize_t)whole) give_up("the journal is full");
    free(buffer);
    written++;
}

// What stands in a file from a place on, before it is written over.
static char *before(int fd, uint64_t at, size_t len, size_t *got) {
    *got = 0;
    if (len > OLD_MAX) give_up("a write is too large to keep what was there");
    char *old = malloc(len ? len : 1);
    if (!old) give_up("no memory");
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    // Opened anew, because the descriptor may be for writing only.
    int reader = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
    if (reader < 0) give_up("cannot read what was there");
    while (*got < len) {
        ssize_t n = syscall(SYS_pread64, reader, old + *got, len - *got, at + *got);
        if (n <= 0) break;
        *got += (size_t)n;
    }
    syscall(SYS_close, reader);
    return old;
}

// Writes down a write that begins at a place, or at the descriptor's own place.
static void put_write(int fd, const struct stat *first, const off64_t *place, const struct iovec *parts, int count) {
    struct stat st = *first;
    syscall(SYS_fstat, fd, &st);
    size_t len = 0, got;
    for (int i = 0; i < count; i++) len += parts[i].iov_len;
    int flags = (int)syscall(SYS_fcntl, fd, F_GETFL);
    off64_t at = flags & O_APPEND ? st.st_size : place ? *place : syscall(SYS_lseek, fd, 0, SEEK_CUR);
    char *old = before(fd, (uint64_t)at, len, &got);
    put('W', st.st_ino, (uint64_t)at, (uint64_t)st.st_size, NULL, NULL, old, got, parts, count);
    free(old);
}

static void put_truncate(int fd, const struct stat *st, uint64_t size) {
    size_t len = (uint64_t)st->st_size > size ? (size_t)((uint64_t)st->st_size - size) : 0, got;
    char *old = before(fd, size, len, &got);
    put('T', st->st_ino, size, (uint64_t)st->st_size, NULL, NULL, old, got, NULL, 0);
    free(old);
}

// A second name outside the disk, so that what is unlinked can come back.
static void keep(const char *path, uint64_t file) {
    char grave[PATH_MAX];
    snprintf(grave, sizeof grave, "%s/%llu", journal, (unsigned long long)file);
    if (syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, grave, 0) && errno != EEXIST) give_up("cannot keep a file");
}

#define WRITES(call, raw, place, parts, count)                                                                          \
    char path[PATH_MAX];                                                                                                \
    struct stat st;                                                                                                     \
    if (!on_disk(fd, path, &st)) return raw;                                                                            \
    if (!journal) return call;                                                                                          \
    pthread_mutex_lock(&lock);                                                                                          \
    put_write(fd, &st, place, parts, count);                                                                            \
    ssize_t done = call;                                                                                                \
    int error = errno;                                                                                                  \
    pthread_mutex_unlock(&lock);                                                                                        \
    errno = error;                                                                                                      \
    return done;

ssize_t write(int fd, const void *bytes, size_t len) {
    struct iovec part = {(void *)bytes, len};
    WRITES(NEXT(write)(fd, bytes, len), syscall(SYS_write, fd, bytes, len), NULL, &part, 1)
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at) {
    struct iovec part = {(void *)bytes, len};
    WRITES(NEXT(pwrite64)(fd, bytes, len, at), syscall(SYS_pwrite64, fd, bytes, len, at), &at, &part, 1)
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at) { return pwrite64(fd, bytes, len, at); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
    WRITES(NEXT(writev)(fd, parts, count), syscall(SYS_writev, fd, parts, count), NULL, parts, count)
}

#define READS(call, raw)                                                                                                \
    char path[PATH_MAX];                                                                                                \
    struct stat st;                                                                                                     \
    return journal || !on_disk(fd, path, &st) ? raw : call;

ssize_t read(int fd, void *bytes, size_t len) { READS(NEXT(read)(fd, bytes, len), syscall(SYS_read, fd, bytes, len)) }

ssize_t pread64(int fd, void *bytes, size_t len, off64_t at) {
    READS(NEXT(pread64)(fd, bytes, len, at), syscall(SYS_pread64, fd, bytes, len, at))
}

ssize_t pread(int fd, void *bytes, size_t len, off_t at) { return pread64(fd, bytes, len, at); }

int ftruncate64(int fd, off64_t size) {
    char path[PATH_MAX];
    struct stat st;
    if (!on_disk(fd, path, &st)) return (int)syscall(SYS_ftruncate, fd, size);
    if (!journal) return NEXT(ftruncate64)(fd, size);
    pthread_mutex_lock(&lock);
    syscall(SYS_fstat, fd, &st);
    put_truncate(fd, &st, (uint64_t)size);
    int done = (int)syscall(SYS_ftruncate, fd, size);
    pthread_mutex_unlock(&lock);
    return done;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

// Copying inside the kernel would not be seen. Whoever tries it falls back to reading and writing.
ssize_t copy_file_range(int from, off64_t *a, int to, off64_t *b, size_t len, unsigned flags) {
    char path[PATH_MAX];
    struct stat st;
    if (!on_disk(to, path, &st)) return syscall(SYS_copy_file_range, from, a, to, b, len, flags);
    errno = ENOSYS;
    return -1;
}

ssize_t sendfile64(int to, int from, off64_t *at, size_t len) {
    char path[PATH_MAX];
    struct stat st;
    if (!on_disk(to, path, &st)) return syscall(SYS_sendfile, to, from, at, len);
    errno = EINVAL;
    return -1;
}

static int synced(int fd, int (*passed)(int)) {
    char path[PATH_MAX];
    struct stat st;
    if (!journal || !on_disk(fd, path, &st)) return passed(fd);
    pthread_mutex_lock(&lock);
    uint64_t until = written;
    pthread_mutex_unlock(&lock);
    // What is written while the sync goes on is not part of it.
    struct timespec pause = {0, (long)(until * 7919 % (sync_us + 1)) * 1000};
    nanosleep(&pause, NULL);
    pthread_mutex_lock(&lock);
    put(S_ISDIR(st.st_mode) ? 'D' : 'S', st.st_ino, until, 0, path, NULL, NULL, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return 0;
}

int fsync(int fd) { return synced(fd, NEXT(fsync)); }
int fdatasync(int fd) { return synced(fd, NEXT(fdatasync)); }

static int opened(int folder, const char *path, int flags, mode_t mode) {
    char full[PATH_MAX];
    set_up();
    int here = resolve(folder, path, full);
    if (!here) return (int)syscall(SYS_openat, folder, path, flags, mode);
    if (!journal) return NEXT(open64)(full, flags, mode);
    pthread_mutex_lock(&lock);
    struct stat st;
    int is_new = !!syscall(SYS_newfstatat, AT_FDCWD, full, &st, 0);
    if (!is_new && flags & O_TRUNC && S_ISREG(st.st_mode)) {
        int fd = (int)syscall(SYS_openat, folder, path, O_RDONLY | O_CLOEXEC, 0);
        if (fd >= 0) put_truncate(fd, &st, 0);
        if (fd >= 0) syscall(SYS_close, fd);
    }
    int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
    int error = errno;
    if (fd >= 0 && is_new && !syscall(SYS_fstat, fd, &st)) put('C', st.st_ino, 0, 0, full, NULL, NULL, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return fd;
}

#define MODE_OF(flags)                                                                                                  \
    mode_t mode = 0;                                                                                                    \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {                                                                            \
        va_list more;                                                                                                   \
        va_start(more, flags);                                                                                          \
        mode = va_arg(more, mode_t);                                                                                    \
        va_end(more);                                                                                                   \
    }

int open64(const char *path, int flags, ...) {
    MODE_OF(flags)
    return opened(AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...) {
    MODE_OF(flags)
    return opened(AT_FDCWD, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
    MODE_OF(flags)
    return opened(folder, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    MODE_OF(flags)
    return opened(folder, path, flags, mode);
}

int mkdirat(int folder, const char *path, mode_t mode) {
    char full[PATH_MAX];
    set_up();
    if (!resolve(folder, path, full) || !journal) return (int)syscall(SYS_mkdirat, folder, path, mode);
    pthread_mutex_lock(&lock);
    int done = (int)syscall(SYS_mkdirat, folder, path, mode);
    int error = errno;
    if (!done) put('M', 0, 0, 0, full, NULL, NULL, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

int unlinkat(int folder, const char *path, int flags) {
    char full[PATH_MAX];
    struct stat st;
    set_up();
    int here = resolve(folder, path, full);
    if (!here) return (int)syscall(SYS_unlinkat, folder, path, flags);
    if (!journal) return flags ? (int)syscall(SYS_unlinkat, folder, path, flags) : NEXT(unlink)(full);
    pthread_mutex_lock(&lock);
    if (!syscall(SYS_newfstatat, AT_FDCWD, full, &st, AT_SYMLINK_NOFOLLOW)) {
        if (S_ISREG(st.st_mode)) keep(full, st.st_ino);
        put(S_ISDIR(st.st_mode) ? 'X' : 'U', st.st_ino, 0, 0, full, NULL, NULL, 0, NULL, 0);
    }
    int done = (int)syscall(SYS_unlinkat, folder, path, flags);
    pthread_mutex_unlock(&lock);
    return done;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    char was[PATH_MAX], is[PATH_MAX];
    struct stat st, gone;
    set_up();
    int here = resolve(from_folder, from, was) && resolve(to_folder, to, is);
    if (!here) return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    if (!journal) return flags ? (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags) : NEXT(rename)(was, is);
    pthread_mutex_lock(&lock);
    if (!syscall(SYS_newfstatat, AT_FDCWD, was, &st, AT_SYMLINK_NOFOLLOW)) {
        int over = !syscall(SYS_newfstatat, AT_FDCWD, is, &gone, AT_SYMLINK_NOFOLLOW) && S_ISREG(gone.st_mode);
        if (over) keep(is, gone.st_ino);
        put('R', st.st_ino, over ? gone.st_ino : 0, 0, was, is, NULL, 0, NULL, 0);
    }
    int done = (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    pthread_mutex_unlock(&lock);
    return done;
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    return renameat2(from_folder, from, to_folder, to, 0);
}

int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    char full[PATH_MAX];
    struct stat st;
    set_up();
    if (!resolve(to_folder, to, full) || !journal)
        return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    pthread_mutex_lock(&lock);
    int done = (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    int error = errno;
    if (!done && !syscall(SYS_newfstatat, AT_FDCWD, full, &st, 0)) put('C', st.st_ino, 0, 0, full, NULL, NULL, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

void *mmap64(void *at, size_t len, int protection, int flags, int fd, off64_t offset) {
    char path[PATH_MAX];
    struct stat st;
    if (journal && fd >= 0 && flags & MAP_SHARED && protection & PROT_WRITE && on_disk(fd, path, &st)) {
        dprintf(2, "disk.so: %s is mapped to be written, which is not seen\n", path);
        abort();
    }
    return (void *)syscall(SYS_mmap, at, len, protection, flags, fd, offset);
}

void *mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset) {
    return mmap64(at, len, protection, flags, fd, offset);
}
