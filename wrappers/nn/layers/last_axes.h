// Some axes of a value behind the others, as one, where operations over the last axis see them.
#pragma once

#include <string>

#include "core/base/json.h"
#include "wrappers/nn/configuration/keras_fields.h"
#include "wrappers/nn/program/program_builder.h"

namespace det::nn {

// A field: a number, several of them, or null for none.
Shape axes_field(Fields &fields, const Json &usual, const char *key = "axis");

class LastAxes {
 public:
  // Throws Code::invalid, naming `what`, where there is no such axis, where it is named twice, and
  // where it is that of the batch.
  LastAxes(const Shape &shape, const Shape &axes, const std::string &what);

  // The sizes of the axes, in the order in which they lie.
  Shape sizes() const;

  // To the others and one axis of all elements of these; nothing where it is so already.
  Value put_last(ProgramBuilder &builder, Value x) const;
  // What was computed of that, in the shape of before.
  Value put_back(ProgramBuilder &builder, Value y) const;

 private:
  bool is_in_order() const;
  Shape permuted() const;

  const Shape shape_;
  std::vector<size_t> order_;  // the others, then these
  size_t count_;               // of these
};

}  // namespace det::nn
