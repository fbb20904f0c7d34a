/* The system calls that inject lets fail, each with what file systems, limits and networks make of
 * it. Left out is what only a wrong argument gives (EBADF, EFAULT, EINVAL), what would be a lie
 * about the files (ENOENT, EEXIST, ENOTDIR), and close(), whose descriptor is gone whatever it
 * answers. */
#pragma once

#include <sys/syscall.h>

enum { CALLS_MAX = 128 };
enum { FIRST_IS_FILE = -1, NO_FILE = -2 };

struct call {
  const char *name;
  int number;
  int path;           /* which argument names a file, or one of the above */
  const char *errors; /* that it can give */
};

#define CALL(name, path, errors) \
  { #name, SYS_##name, path, errors }
#define PLACE "EACCES EDQUOT EIO EMLINK ENOMEM ENOSPC EPERM EROFS ESTALE"
#define LOOK "EACCES EIO ELOOP ENOMEM ESTALE"
#define OPEN "EACCES EDQUOT EINTR EIO ELOOP EMFILE ENFILE ENOMEM ENOSPC EPERM EROFS ESTALE"
#define READ "EINTR EIO ENOMEM ESTALE"
#define WRITE "EDQUOT EFBIG EINTR EIO ENOMEM ENOSPC EPERM ESTALE"
#define SYNC "EDQUOT EINTR EIO ENOSPC EROFS"
#define COPY "EFBIG EINTR EIO ENOMEM ENOSPC ENOSYS EOPNOTSUPP EXDEV"
#define DESCRIPTOR "EMFILE ENFILE ENOMEM"
#define TRANSFER "ECONNRESET EHOSTUNREACH EINTR ENETDOWN ENOBUFS ENOMEM EPIPE ETIMEDOUT"
#define WAIT "EINTR ENOMEM"

static const struct call calls[] = {
#ifdef SYS_open
    CALL(open, 0, OPEN),
    CALL(creat, 0, OPEN),
    CALL(mkdir, 0, PLACE),
    CALL(mknod, 0, PLACE),
    CALL(rmdir, 0, PLACE " EBUSY"),
    CALL(unlink, 0, PLACE " EBUSY"),
    CALL(rename, 0, PLACE " EBUSY EXDEV"),
    CALL(link, 0, PLACE " EXDEV"),
    CALL(symlink, 1, PLACE),
    CALL(stat, 0, LOOK),
    CALL(lstat, 0, LOOK),
    CALL(access, 0, LOOK " EROFS"),
    CALL(readlink, 0, LOOK),
    CALL(chmod, 0, "EACCES EIO EPERM EROFS"),
    CALL(poll, NO_FILE, WAIT),
    CALL(select, NO_FILE, WAIT),
    CALL(epoll_wait, NO_FILE, "EINTR"),
    CALL(dup2, FIRST_IS_FILE, "EBUSY EINTR EMFILE"),
    CALL(pipe, NO_FILE, "EMFILE ENFILE"),
    CALL(fork, NO_FILE, "EAGAIN ENOMEM"),
    CALL(vfork, NO_FILE, "EAGAIN ENOMEM"),
#endif
    CALL(openat, 1, OPEN),
    CALL(openat2, 1, OPEN " EAGAIN EXDEV ENOSYS"),
    CALL(mkdirat, 1, PLACE),
    CALL(mknodat, 1, PLACE),
    CALL(unlinkat, 1, PLACE " EBUSY"),
    CALL(renameat, 1, PLACE " EBUSY EXDEV"),
    CALL(renameat2, 1, PLACE " EBUSY EXDEV"),
    CALL(linkat, 1, PLACE " EXDEV"),
    CALL(symlinkat, 2, PLACE),
    CALL(newfstatat, 1, LOOK),
    CALL(statx, 1, LOOK),
    CALL(fstat, FIRST_IS_FILE, "EIO ENOMEM ESTALE"),
    CALL(statfs, 0, "EACCES EINTR EIO ENOMEM ENOSYS"),
    CALL(fstatfs, FIRST_IS_FILE, "EINTR EIO ENOMEM ENOSYS"),
    CALL(faccessat, 1, LOOK),
    CALL(faccessat2, 1, LOOK),
    CALL(readlinkat, 1, LOOK),
    CALL(fchmod, FIRST_IS_FILE, "EIO EPERM EROFS"),
    CALL(fchmodat, 1, "EACCES EIO EPERM EROFS"),
    CALL(fchown, FIRST_IS_FILE, "EDQUOT EIO EPERM EROFS"),
    CALL(utimensat, 1, "EACCES EIO EPERM EROFS"),
    CALL(getdents64, FIRST_IS_FILE, "EIO ENOMEM ESTALE"),
    CALL(getcwd, NO_FILE, "ENOENT ENOMEM"),
    CALL(chdir, 0, LOOK),
    CALL(read, FIRST_IS_FILE, READ),
    CALL(pread64, FIRST_IS_FILE, READ),
    CALL(readv, FIRST_IS_FILE, READ),
    CALL(write, FIRST_IS_FILE, WRITE " EPIPE"),
    CALL(pwrite64, FIRST_IS_FILE, WRITE),
    CALL(writev, FIRST_IS_FILE, WRITE " EPIPE"),
    CALL(lseek, FIRST_IS_FILE, "ESTALE"),
    CALL(ftruncate, FIRST_IS_FILE, "EFBIG EINTR EIO ENOSPC EPERM ESTALE"),
    CALL(fallocate, FIRST_IS_FILE, "EFBIG EINTR EIO ENOSPC ENOSYS EOPNOTSUPP EPERM"),
    CALL(fadvise64, FIRST_IS_FILE, "EIO"),
    CALL(fsync, FIRST_IS_FILE, SYNC),
    CALL(fdatasync, FIRST_IS_FILE, SYNC),
    CALL(syncfs, FIRST_IS_FILE, SYNC),
    CALL(msync, NO_FILE, "EIO ENOMEM"),
    CALL(copy_file_range, FIRST_IS_FILE, COPY),
    CALL(sendfile, FIRST_IS_FILE, COPY),
    CALL(ioctl, FIRST_IS_FILE, "EIO ENOTTY EOPNOTSUPP EXDEV"),
    CALL(flock, FIRST_IS_FILE, "EAGAIN EINTR ENOLCK"),
    CALL(fcntl, FIRST_IS_FILE, "EACCES EAGAIN EDEADLK EINTR EIO ENOLCK"),
    CALL(dup, FIRST_IS_FILE, "EMFILE"),
    CALL(dup3, FIRST_IS_FILE, "EBUSY EINTR EMFILE"),
    CALL(mmap, NO_FILE, "EACCES EAGAIN ENFILE ENODEV ENOMEM EPERM"),
    CALL(mremap, NO_FILE, "EAGAIN ENOMEM"),
    CALL(mprotect, NO_FILE, "ENOMEM"),
    CALL(pipe2, NO_FILE, "EMFILE ENFILE"),
    CALL(eventfd2, NO_FILE, DESCRIPTOR),
    CALL(timerfd_create, NO_FILE, DESCRIPTOR),
    CALL(signalfd4, NO_FILE, DESCRIPTOR),
    CALL(memfd_create, NO_FILE, DESCRIPTOR),
    CALL(inotify_init1, NO_FILE, DESCRIPTOR),
    CALL(inotify_add_watch, 1, "EACCES ENOMEM ENOSPC"),
    CALL(epoll_create1, NO_FILE, DESCRIPTOR),
    CALL(epoll_ctl, NO_FILE, "ENOMEM ENOSPC"),
    CALL(epoll_pwait, NO_FILE, "EINTR"),
    CALL(ppoll, NO_FILE, WAIT),
    CALL(pselect6, NO_FILE, WAIT),
    CALL(nanosleep, NO_FILE, "EINTR"),
    CALL(clock_nanosleep, NO_FILE, "EINTR"),
    CALL(getrandom, NO_FILE, "EAGAIN EINTR EIO ENOSYS"),
    CALL(clone, NO_FILE, "EAGAIN ENOMEM"),
    CALL(clone3, NO_FILE, "EAGAIN ENOMEM ENOSYS"),
    CALL(wait4, NO_FILE, "EINTR"),
    CALL(waitid, NO_FILE, "EINTR"),
    CALL(pidfd_open, NO_FILE, DESCRIPTOR " ENOSYS"),
    CALL(prlimit64, NO_FILE, "EPERM"),
    CALL(sched_getaffinity, NO_FILE, "ENOSYS"),
    CALL(socket, NO_FILE, DESCRIPTOR " EACCES EAFNOSUPPORT ENOBUFS"),
    CALL(socketpair, NO_FILE, DESCRIPTOR),
    CALL(bind, FIRST_IS_FILE, "EACCES EADDRINUSE EADDRNOTAVAIL ENOMEM"),
    CALL(listen, FIRST_IS_FILE, "EADDRINUSE"),
    CALL(accept4, FIRST_IS_FILE, DESCRIPTOR " ECONNABORTED EINTR ENOBUFS EPERM"),
    CALL(connect, FIRST_IS_FILE,
         "EACCES EADDRNOTAVAIL ECONNREFUSED EHOSTUNREACH EINTR "
         "ENETUNREACH ETIMEDOUT"),
    CALL(getsockname, FIRST_IS_FILE, "ENOBUFS"),
    CALL(getpeername, FIRST_IS_FILE, "ENOBUFS ENOTCONN"),
    CALL(getsockopt, FIRST_IS_FILE, "ENOMEM ENOPROTOOPT"),
    CALL(setsockopt, FIRST_IS_FILE, "ENOBUFS ENOMEM ENOPROTOOPT"),
    CALL(sendto, FIRST_IS_FILE, TRANSFER),
    CALL(sendmsg, FIRST_IS_FILE, TRANSFER),
    CALL(recvfrom, FIRST_IS_FILE, TRANSFER),
    CALL(recvmsg, FIRST_IS_FILE, TRANSFER),
    {0, 0, 0, 0}};
