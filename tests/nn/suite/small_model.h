// A model of three layers and batches that it can learn.
#pragma once

#include "core/base/json.h"
#include "wrappers/nn/model/model.h"

namespace det::test {

Json layer(const char *class_name, Json config);
Json sequential(Json layers);

// Of (2, 3) numbers to three classes.
Json small_model();

// The label is where the largest of the first three numbers is.
nn::Batch batch_of(int64_t records);

// What small_model() is compiled with.
Json sparse_losses(Json optimizer);

}  // namespace det::test
