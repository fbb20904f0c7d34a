/* A client of the store in a directory, or of the master at an address. */
#ifndef TESTS_OPEN_STORE_H
#define TESTS_OPEN_STORE_H

#include <det/client.h>

__attribute__((unused)) static inline det_status open_store(const char *home, det_client **out,
                                                            det_error *err) {
  det_client_options options = DET_CLIENT_OPTIONS_INIT;
  options.master = home;
  return det_client_open(&options, out, err);
}

#endif
