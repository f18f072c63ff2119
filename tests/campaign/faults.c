/* SPDX-License-Identifier: MIT
 *
 * A library for LD_PRELOAD that makes the k-th call of a kind fail, from main() to its return.
 *
 *     FAULT_KIND  enospc, eio, emfile, enomem, crypto: libcrypto does not get its memory, or
 *                 kill: the process dies before the call
 *     FAULT_AT    which call, from 1; 0: none
 *     FAULT_LOG   a file that gets a line: the call that failed, or how many calls there were
 *
 * Writes to standard error never fail, so that the error message can be read. Memory is allocated
 * by the C library's internal functions (__libc_malloc), because dlsym() itself allocates memory.
 * Allocations by libcrypto are a kind of their own, because libcrypto allocates memory a few
 * thousand times when it starts. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ENOSPC_BIT = 1, EIO_BIT = 2, EMFILE_BIT = 4, ENOMEM_BIT = 8, KILL_BIT = 16,
       CRYPTO_BIT = 32 };

static const struct kind {
    const char *name;
    unsigned bit;
    int errnum;
} kinds[] = {
    { "enospc", ENOSPC_BIT, ENOSPC }, { "eio", EIO_BIT, EIO }, { "emfile", EMFILE_BIT, EMFILE },
    { "enomem", ENOMEM_BIT, ENOMEM }, { "crypto", CRYPTO_BIT, ENOMEM }, { "kill", KILL_BIT, 0 },
};

static const struct kind *kind;
static long fail_at;
static atomic_long calls;
static atomic_bool armed;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
int __libc_start_main(int (*main_function)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
                      void *stack_end);

/* Returns the next definition of a function, as dlsym finds it. The address is looked up only
 * once. */
#define NEXT(name) ({ \
    static __typeof__(name) *next_; \
    if (next_ == NULL) \
        *(void **)&next_ = dlsym(RTLD_NEXT, #name); \
    next_; })

static void tell(const char *what, long number)
{
    const char *path = getenv("FAULT_LOG");
    char line[128];
    const int size = snprintf(line, sizeof(line), "%s %ld\n", what, number);
    const int fd = path == NULL ? -1 : NEXT(open)(path, O_WRONLY | O_CREAT | O_APPEND, 0666);

    if (fd >= 0 && NEXT(write)(fd, line, (size_t)size) != size)
        abort();
    if (fd >= 0)
        NEXT(close)(fd);
}

/* Returns whether this call, which belongs to the kinds in `bits`, must fail. If so, sets errno. */
static bool fails(unsigned bits, const char *what)
{
    long number;

    if (!atomic_load(&armed) || (kind->bit & bits) == 0)
        return false;
    number = atomic_fetch_add(&calls, 1) + 1;
    if (number != fail_at)
        return false;
    atomic_store(&armed, false);
    tell(what, number);
    atomic_store(&armed, true);
    if (kind->bit == KILL_BIT)
        kill(getpid(), SIGKILL);
    errno = kind->errnum;
    return true;
}

/* ---- Libraries whose allocations are special ------------------------------------------------- */

/* The addresses of the code of a library. */
struct code {
    const char *library;
    uintptr_t from, to;
};
static struct code crypto = { .library = "libcrypto.so" };
/* If one allocation fails and the next one succeeds, jansson drops characters of a text. So
 * allocations by jansson never fail here. tests/test_json.c makes all allocations fail from a
 * certain one on. */
static struct code jansson = { .library = "libjansson.so" };

static int find_code(struct dl_phdr_info *info, size_t size, void *context)
{
    struct code *code = context;

    (void)size;
    if (strstr(info->dlpi_name, code->library) == NULL)
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];

        if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
            code->from = info->dlpi_addr + part->p_vaddr;
            code->to = code->from + part->p_memsz;
        }
    }
    return 1;
}

static bool is_in(const void *address, const struct code *code)
{
    return (uintptr_t)address >= code->from && (uintptr_t)address < code->to;
}

static bool lacks_memory(const char *what, const void *caller)
{
    if (is_in(caller, &jansson))
        return false;
    return fails(is_in(caller, &crypto) ? CRYPTO_BIT : ENOMEM_BIT, what);
}

/* ---- main() ---------------------------------------------------------------------------------- */

static int (*real_main)(int, char **, char **);

static int main_with_faults(int argc, char **argv, char **environment)
{
    int status;

    dl_iterate_phdr(find_code, &crypto);
    dl_iterate_phdr(find_code, &jansson);
    atomic_store(&armed, kind != NULL);
    status = real_main(argc, argv, environment);
    atomic_store(&armed, false);
    tell("calls", atomic_load(&calls));
    return status;
}

int __libc_start_main(int (*main_function)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
                      void *stack_end)
{
    const char *name = getenv("FAULT_KIND"), *at = getenv("FAULT_AT");

    for (size_t i = 0; name != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, name) == 0)
            kind = &kinds[i];
    fail_at = at == NULL ? 0 : strtol(at, NULL, 10);
    real_main = main_function;
    return NEXT(__libc_start_main)(main_with_faults, argc, argv, init, fini, rtld_fini,
                                   stack_end);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

void *malloc(size_t size)
{
    return lacks_memory("malloc", __builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return lacks_memory("calloc", __builtin_return_address(0)) ? NULL
                                                               : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return lacks_memory("realloc", __builtin_return_address(0)) ? NULL
                                                                : __libc_realloc(old, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    return fails(ENOMEM_BIT, "posix_memalign") ? ENOMEM
                                               : NEXT(posix_memalign)(memory, alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(ENOMEM_BIT, "aligned_alloc") ? NULL : NEXT(aligned_alloc)(alignment, size);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    return fails(ENOMEM_BIT, "mmap") ? MAP_FAILED
                                     : NEXT(mmap)(address, size, protection, flags, fd, offset);
}

void *mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
    return fails(ENOMEM_BIT, "mremap") ? MAP_FAILED : NEXT(mremap)(old, old_size, size, flags);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    return fails(ENOMEM_BIT, "pthread_create") ? EAGAIN
               : NEXT(pthread_create)(thread, attributes, run, argument);
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

#define ANY_OPEN (EMFILE_BIT | EIO_BIT)
#define CREATES  (ENOSPC_BIT | KILL_BIT)

static unsigned bits_of_open(int flags)
{
    return flags & O_CREAT ? ANY_OPEN | CREATES : ANY_OPEN;
}

static mode_t mode_of(int flags, va_list args)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

/* The argument `mode` exists only if the flags allow the call to create a file. */
#define OPEN_FUNCTION(name, parameters, arguments) \
    int name parameters \
    { \
        va_list args; \
        mode_t mode; \
        \
        va_start(args, flags); \
        mode = mode_of(flags, args); \
        va_end(args); \
        return fails(bits_of_open(flags), #name) ? -1 : NEXT(name) arguments; \
    }

OPEN_FUNCTION(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN_FUNCTION(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN_FUNCTION(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode))
OPEN_FUNCTION(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode))

int socket(int domain, int type, int protocol)
{
    return fails(EMFILE_BIT, "socket") ? -1 : NEXT(socket)(domain, type, protocol);
}

int eventfd(unsigned value, int flags)
{
    return fails(EMFILE_BIT, "eventfd") ? -1 : NEXT(eventfd)(value, flags);
}

int epoll_create1(int flags)
{
    return fails(EMFILE_BIT, "epoll_create1") ? -1 : NEXT(epoll_create1)(flags);
}

int pipe2(int ends[2], int flags)
{
    return fails(EMFILE_BIT, "pipe2") ? -1 : NEXT(pipe2)(ends, flags);
}

int mkostemp(char *pattern, int flags)
{
    return fails(ANY_OPEN | CREATES, "mkostemp") ? -1 : NEXT(mkostemp)(pattern, flags);
}

FILE *fopen(const char *path, const char *mode)
{
    return fails(ANY_OPEN, "fopen") ? NULL : NEXT(fopen)(path, mode);
}

DIR *fdopendir(int fd)
{
    return fails(ENOMEM_BIT, "fdopendir") ? NULL : NEXT(fdopendir)(fd);
}

DIR *opendir(const char *path)
{
    return fails(ANY_OPEN, "opendir") ? NULL : NEXT(opendir)(path);
}

struct dirent *readdir(DIR *directory)
{
    return fails(EIO_BIT, "readdir") ? NULL : NEXT(readdir)(directory);
}

/* Fails like a close on a file server that is unreachable: the descriptor is closed anyway. */
int close(int fd)
{
    const int code = NEXT(close)(fd);

    return fails(EIO_BIT, "close") ? -1 : code;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

ssize_t read(int fd, void *data, size_t size)
{
    return fails(EIO_BIT, "read") ? -1 : NEXT(read)(fd, data, size);
}

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
    return fails(EIO_BIT, "pread") ? -1 : NEXT(pread)(fd, data, size, offset);
}

ssize_t pread64(int fd, void *data, size_t size, off64_t offset)
{
    return fails(EIO_BIT, "pread64") ? -1 : NEXT(pread64)(fd, data, size, offset);
}

ssize_t preadv(int fd, const struct iovec *parts, int count, off_t offset)
{
    return fails(EIO_BIT, "preadv") ? -1 : NEXT(preadv)(fd, parts, count, offset);
}

ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
    return fails(EIO_BIT, "preadv2") ? -1 : NEXT(preadv2)(fd, parts, count, offset, flags);
}

#define WRITES (ENOSPC_BIT | EIO_BIT | KILL_BIT)

/* Returns whether the descriptor is a regular file or standard output. Writes to others do not
 * fail, because threads wake each other with them. */
static bool takes_bytes(int fd)
{
    struct stat st;

    return fd == STDOUT_FILENO || (NEXT(fstat)(fd, &st) == 0 && S_ISREG(st.st_mode));
}

ssize_t write(int fd, const void *data, size_t size)
{
    return takes_bytes(fd) && fails(WRITES, "write") ? -1 : NEXT(write)(fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    return fails(WRITES, "pwrite") ? -1 : NEXT(pwrite)(fd, data, size, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
    return fails(WRITES, "pwrite64") ? -1 : NEXT(pwrite64)(fd, data, size, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    return fails(WRITES, "writev") ? -1 : NEXT(writev)(fd, parts, count);
}

int fallocate(int fd, int mode, off_t offset, off_t size)
{
    return fails(WRITES, "fallocate") ? -1 : NEXT(fallocate)(fd, mode, offset, size);
}

int syncfs(int fd)
{
    return fails(WRITES, "syncfs") ? -1 : NEXT(syncfs)(fd);
}

int futimens(int fd, const struct timespec times[2])
{
    return fails(EIO_BIT, "futimens") ? -1 : NEXT(futimens)(fd, times);
}

int flock(int fd, int operation)
{
    return fails(EIO_BIT, "flock") ? -1 : NEXT(flock)(fd, operation);
}

int fsync(int fd)
{
    return fails(WRITES, "fsync") ? -1 : NEXT(fsync)(fd);
}

int fdatasync(int fd)
{
    return fails(WRITES, "fdatasync") ? -1 : NEXT(fdatasync)(fd);
}

int ftruncate(int fd, off_t size)
{
    return fails(WRITES, "ftruncate") ? -1 : NEXT(ftruncate)(fd, size);
}

/* ---- Names ----------------------------------------------------------------------------------- */

int rename(const char *from, const char *to)
{
    return fails(WRITES, "rename") ? -1 : NEXT(rename)(from, to);
}

int renameat(int from_at, const char *from, int to_at, const char *to)
{
    return fails(WRITES, "renameat") ? -1 : NEXT(renameat)(from_at, from, to_at, to);
}

int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    return fails(WRITES, "renameat2") ? -1 : NEXT(renameat2)(from_at, from, to_at, to, flags);
}

int link(const char *from, const char *to)
{
    return fails(WRITES, "link") ? -1 : NEXT(link)(from, to);
}

int linkat(int from_at, const char *from, int to_at, const char *to, int flags)
{
    return fails(WRITES, "linkat") ? -1 : NEXT(linkat)(from_at, from, to_at, to, flags);
}

int unlink(const char *path)
{
    return fails(EIO_BIT | KILL_BIT, "unlink") ? -1 : NEXT(unlink)(path);
}

int unlinkat(int at, const char *path, int flags)
{
    return fails(EIO_BIT | KILL_BIT, "unlinkat") ? -1 : NEXT(unlinkat)(at, path, flags);
}

int rmdir(const char *path)
{
    return fails(EIO_BIT | KILL_BIT, "rmdir") ? -1 : NEXT(rmdir)(path);
}

int mkdir(const char *path, mode_t mode)
{
    return fails(WRITES, "mkdir") ? -1 : NEXT(mkdir)(path, mode);
}

int mkdirat(int at, const char *path, mode_t mode)
{
    return fails(WRITES, "mkdirat") ? -1 : NEXT(mkdirat)(at, path, mode);
}

int stat(const char *path, struct stat *st)
{
    return fails(EIO_BIT, "stat") ? -1 : NEXT(stat)(path, st);
}

int fstat(int fd, struct stat *st)
{
    return fails(EIO_BIT, "fstat") ? -1 : NEXT(fstat)(fd, st);
}

int fstatat(int at, const char *path, struct stat *st, int flags)
{
    return fails(EIO_BIT, "fstatat") ? -1 : NEXT(fstatat)(at, path, st, flags);
}

int lstat(const char *path, struct stat *st)
{
    return fails(EIO_BIT, "lstat") ? -1 : NEXT(lstat)(path, st);
}
