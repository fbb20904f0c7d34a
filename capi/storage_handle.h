// What a det_storage holds.
#pragma once

#include <det/storage.h>

#include <memory>

#include "core/storage/storage.h"

struct det_storage {
  std::shared_ptr<det::storage::Storage> impl;
};
