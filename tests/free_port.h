/* Where the ranks of a test meet. */
#pragma once

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A port of this machine that no other program is given before the next call; -1 if there is none.
 * It stays bound: who listens at it all the same says SO_REUSEADDR, as ranks do. */
static inline int free_port(void) {
  static int held = -1;
  if (held >= 0) close(held);
  held = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  if (setsockopt(held, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(held, (struct sockaddr *)&address, size) != 0 ||
      getsockname(held, (struct sockaddr *)&address, &size) != 0)
    return -1;
  return ntohs(address.sin_port);
}
