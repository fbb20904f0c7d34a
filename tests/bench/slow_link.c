/* A line between two network namespaces that is slow and loses packets: slow_link MILLISECONDS
   PERCENT PID. Both ways, each packet takes so long, and so many of a hundred do not arrive. It
   makes the device `near` here and `far` in the namespace of PID, with the addresses 10.9.0.1
   and 10.9.0.2, prints a line once they are there, and ends with its standard input. For kernels
   that lack netem; as root. */
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { packet_bytes = 1500, queue_length = 16384 };

struct packet {
  int64_t due; /* in nanoseconds */
  ssize_t length;
  char data[packet_bytes];
};

/* One way. What comes while the queue is full is lost, as on any line. */
struct way {
  int from, to;
  unsigned first, count;
  struct packet *packets;
};

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int open_device(const char *name) {
  struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
  strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  const int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (device < 0 || ioctl(device, TUNSETIFF, &request) != 0) {
    perror("slow_link: /dev/net/tun");
    exit(1);
  }
  return device;
}

static void take(struct way *way, int64_t delay, double lost) {
  static char data[packet_bytes];
  ssize_t length;
  while ((length = read(way->from, data, sizeof data)) > 0) {
    if (way->count == queue_length || drand48() < lost) continue;
    struct packet *packet = &way->packets[(way->first + way->count++) % queue_length];
    packet->due = now() + delay;
    packet->length = length;
    memcpy(packet->data, data, (size_t)length);
  }
}

/* The time of the next one, or none: INT64_MAX. */
static int64_t give(struct way *way) {
  while (way->count > 0) {
    struct packet *packet = &way->packets[way->first];
    if (packet->due > now()) return packet->due;
    if (write(way->to, packet->data, (size_t)packet->length) < 0) {
      /* lost */
    }
    way->first = (way->first + 1) % queue_length;
    --way->count;
  }
  return INT64_MAX;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const int64_t delay = (int64_t)(atof(argv[1]) * 1e6);
  const double lost = atof(argv[2]) / 100;
  const int near = open_device("near"), far = open_device("far");
  char setup[512];
  snprintf(setup, sizeof setup,
           "ip link set far netns %s && ip addr add 10.9.0.1 peer 10.9.0.2 dev near && ip link set "
           "near up && "
           "nsenter --net --target %s sh -c 'ip link set lo up && ip addr add 10.9.0.2 peer "
           "10.9.0.1 dev far && "
           "ip link set far up'",
           argv[3], argv[3]);
  if (system(setup) != 0) return 1;
  puts("ready");
  fflush(stdout);
  struct way ways[2] = {{.from = near, .to = far}, {.from = far, .to = near}};
  for (int i = 0; i < 2; ++i) ways[i].packets = malloc(queue_length * sizeof(struct packet));
  struct pollfd watched[3] = {{near, POLLIN, 0}, {far, POLLIN, 0}, {0, POLLIN, 0}};
  while (!watched[2].revents) {
    int64_t next = INT64_MAX;
    for (int i = 0; i < 2; ++i) {
      take(&ways[i], delay, lost);
      const int64_t due = give(&ways[i]);
      if (due < next) next = due;
    }
    struct timespec wait = {0, 0};
    const int64_t left = next == INT64_MAX ? 0 : next - now();
    if (left > 0) wait.tv_nsec = left % 1000000000, wait.tv_sec = left / 1000000000;
    ppoll(watched, 3, next == INT64_MAX ? NULL : &wait, NULL);
  }
  return 0;
}
