// A program whose every call on its disk is known, to try the disk with: bed WORD...
//
//   put NAME BYTE COUNT   writes so many of a byte to the beginning of a file, which is made if it is not there
//   keep NAME             syncs a file or a folder
//   trim NAME COUNT       cuts a file to so many bytes
//   move NAME NAME, drop NAME, room NAME (makes a folder)

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check(int result, const char *what) {
    if (result < 0) {
        perror(what);
        exit(1);
    }
    return result;
}

int main(int count, char **words) {
    (void)count;
    for (char **at = words + 1; *at;) {
        char *verb = at[0], *name = at[1];
        int fd = -1;
        if (!strcmp(verb, "put")) {
            size_t size = (size_t)atol(at[3]);
            char *bytes = malloc(size);
            memset(bytes, at[2][0], size);
            fd = check(open(name, O_WRONLY | O_CREAT, 0600), name);
            check(write(fd, bytes, size) == (ssize_t)size ? 0 : -1, name);
            free(bytes);
            at += 4;
        } else if (!strcmp(verb, "keep")) {
            fd = check(open(name, O_RDONLY), name);
            check(fsync(fd), name);
            at += 2;
        } else if (!strcmp(verb, "trim")) {
            fd = check(open(name, O_WRONLY), name);
            check(ftruncate(fd, atol(at[2])), name);
            at += 3;
        } else if (!strcmp(verb, "move")) {
            check(rename(name, at[2]), name);
            at += 3;
        } else if (!strcmp(verb, "drop")) {
            check(unlink(name), name);
            at += 2;
        } else if (!strcmp(verb, "room")) {
            check(mkdir(name, 0700), name);
            at += 2;
        } else {
            fprintf(stderr, "what is %s?\n", verb);
            return 2;
        }
        if (fd >= 0) close(fd);
    }
    return 0;
}
