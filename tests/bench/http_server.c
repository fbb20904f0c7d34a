/* A web server that costs next to nothing: over connections that are kept it answers every request
 * at once, with what a master says of itself, which does for most. It only holds a poll for
 * preemption until a POST to /preempt. Prints its port at the start, and the number of requests
 * when its standard input ends. Bodies come by Content-Length. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct connection {
  int fd;
  size_t used;      /* of `head` */
  size_t body_left; /* to read before the request is complete */
  int is_poll;
  char head[16384];
};

#define ANSWER(size, body) \
  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " size "\r\n\r\n" body
static const char answer[] =
    ANSWER("52", "{\"version\":\"0.38.1\",\"clusterId\":\"c\",\"preempt\":false}");
static const char preempt[] = ANSWER("16", "{\"preempt\":true}");
static unsigned long long requests;
static struct connection *polling;

static _Noreturn void die(const char *what) {
  perror(what);
  exit(1);
}

static size_t body_size(const char *head) {
  const char *field = strcasestr(head, "\r\nContent-Length:");
  return field == NULL ? 0 : strtoul(field + strlen("\r\nContent-Length:"), NULL, 10);
}

static int say(struct connection *c, const char *text) {
  const ssize_t size = (ssize_t)strlen(text);
  return send(c->fd, text, (size_t)size, MSG_NOSIGNAL) == size;
}

/* Takes what has been read; false when the connection is of no more use. */
static int take(struct connection *c) {
  while (c->used > 0) {
    const size_t body = c->body_left < c->used ? c->body_left : c->used;
    size_t taken = body;
    if (body == 0) {
      c->head[c->used] = '\0';
      const char *end = strstr(c->head, "\r\n\r\n");
      if (end == NULL) return c->used < sizeof c->head - 1;
      taken = (size_t)(end - c->head) + 4;
      c->is_poll = strstr(c->head, "timeout_seconds=60") != NULL;
      if (strncmp(c->head, "POST /preempt ", 14) == 0 && polling != NULL) {
        if (!say(polling, preempt)) return 0;
        polling = NULL;
      }
      c->body_left = body_size(c->head);
    } else {
      c->body_left -= body;
    }
    c->used -= taken;
    memmove(c->head, c->head + taken, c->used);
    if (c->body_left > 0) continue;
    ++requests;
    if (c->is_poll) polling = c;
    else if (!say(c, answer)) return 0;
  }
  return 1;
}

static void serve(struct connection *c) {
  const ssize_t got = recv(c->fd, c->head + c->used, sizeof c->head - 1 - c->used, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) c->used += (size_t)got;
  if (got > 0 && take(c)) return;
  if (polling == c) polling = NULL;
  close(c->fd);
  free(c);
}

static int listen_anywhere(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, 128) != 0 ||
      getsockname(fd, (struct sockaddr *)&address, &size) != 0)
    die("listening");
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  return fd;
}

static void watch(int epoll, int fd, void *what) {
  struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = what}};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) die("epoll_ctl");
}

static void welcome(int epoll, int listener) {
  const int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
  if (fd < 0) return;
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct connection *c = calloc(1, sizeof *c);
  if (c == NULL) die("calloc");
  c->fd = fd;
  watch(epoll, fd, c);
}

int main(void) {
  int listener = listen_anywhere(), input = STDIN_FILENO;
  const int epoll = epoll_create1(0);
  watch(epoll, listener, &listener);
  watch(epoll, input, &input);
  for (;;) {
    struct epoll_event events[64];
    const int count = epoll_wait(epoll, events, 64, -1);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.ptr == &input) {
        printf("%llu\n", requests);
        return 0;
      }
      if (events[i].data.ptr == &listener) welcome(epoll, listener);
      else serve(events[i].data.ptr);
    }
  }
}
