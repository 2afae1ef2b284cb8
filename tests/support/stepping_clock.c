/* A wall clock that steps: clock_gettime(CLOCK_REALTIME) and time() plus the seconds in the file $CLOCK_OFFSET.
 * Built with `cc -shared -fPIC -o clock.so stepping_clock.c -ldl`, loaded with LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset(void) {
  char text[32] = {0};
  const char *path = getenv("CLOCK_OFFSET");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0)
    return 0;
  if (read(file, text, sizeof text - 1) < 0)
    text[0] = 0;
  close(file);
  return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real)
    real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, now);
  if (!result && clock == CLOCK_REALTIME)
    now->tv_sec += offset();
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec precise;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &precise))
    return -1;
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result)
    *result = now.tv_sec;
  return now.tv_sec;
}
