#include "tests/nn/suite/operation_case.h"

namespace det::test {

using namespace nn;

namespace {

BatchNormalizationOp batch_normalization(size_t axis, bool is_training) {
  BatchNormalizationOp op;
  op.axis = axis;
  op.is_training = is_training;
  return op;
}

RandomImageOp mirrored() {
  RandomImageOp op;
  op.across = op.down = true;
  return op;
}

RandomImageOp turned(Beyond beyond) {
  RandomImageOp op;
  op.change = RandomImageOp::Change::turn;
  op.angle = {-2, 3};
  op.beyond = beyond;
  op.filling = 0.5F;
  return op;
}

RandomImageOp zoomed() {
  RandomImageOp op;
  op.change = RandomImageOp::Change::zoom;
  op.height = {0.5F, 1.5F};
  op.width = {0.75F, 2};
  op.beyond = Beyond::nearest;
  return op;
}

}  // namespace

OperationCases normalization_cases() {
  OperationCases cases;
  for (const bool is_training : {true, false}) {
    const std::string mode = is_training ? " in training" : " with what moved";
    cases.push_back({"batch normalization" + mode,
                     batch_normalization(1, is_training),
                     {floats({6, 5}), floats({5}), floats({5}), floats({5}), floats({5})},
                     fill_with_variances,
                     {true, true, true, false, false}});
    cases.push_back({"batch normalization of images" + mode,
                     batch_normalization(3, is_training),
                     {floats({2, 3, 2, 4}), floats({4}), floats({4}), floats({4}), floats({4})},
                     fill_with_variances,
                     {true, true, true, false, false}});
  }
  BatchNormalizationOp bare = batch_normalization(1, true);
  bare.has_scale = bare.has_center = false;
  cases.push_back({"batch normalization along the first axis, without weights",
                   bare,
                   {floats({3, 4, 5}), floats({4}), floats({4})},
                   fill_with_variances,
                   {true, false, false}});
  cases.push_back({"layer normalization",
                   LayerNormalizationOp{},
                   {floats({3, 2, 7}), floats({7}), floats({7})}});
  cases.push_back({"layer normalization of longer rows",
                   LayerNormalizationOp{},
                   {floats({3, 19}), floats({19}), floats({19})}});
  cases.push_back({"layer normalization without a center",
                   LayerNormalizationOp{true, false, 1e-5F},
                   {floats({4, 6}), floats({6})}});
  return cases;
}

OperationCases dropout_cases() {
  return {
      {"dropout", DropoutOp{0.3F}, {floats({5, 7})}},
      {"dropout of a large array", DropoutOp{0.3F}, {floats({70, 1081})}},
      {"dropout of all", DropoutOp{1}, {floats({3, 4})}},
      {"dropout of channels, with a seed", DropoutOp{0.5F, true, 9}, {floats({3, 2, 2, 5})}},
  };
}

OperationCases resizing_cases() {
  return {
      {"padding", PaddingOp{{0, 1, 2, 0}, {0, 0, 1, 0}}, {floats({2, 3, 2, 2})}},
      {"cropping", PaddingOp{{0, -1, 0}, {0, -2, 0}}, {floats({2, 5, 3})}},
      {"cropping and padding of one axis", PaddingOp{{0, -2}, {0, 3}}, {floats({2, 4})}},
      {"repeating", RepeatingOp{2, 3}, {floats({2, 2, 3, 2})}},
      {"interpolating", InterpolatingOp{2, 3}, {floats({2, 2, 3, 2})}},
      {"interpolating one pixel", InterpolatingOp{3, 1}, {floats({2, 1, 4, 1})}},
      {"images mirrored by chance", mirrored(), {floats({5, 3, 4, 2})}},
      {"images turned by chance", turned(Beyond::reflected), {floats({3, 4, 5, 2})}},
      {"images turned by chance, wrapped", turned(Beyond::wrapped), {floats({3, 4, 5, 1})}},
      {"images turned by chance, filled", turned(Beyond::constant), {floats({3, 4, 5, 1})}},
      {"images zoomed by chance", zoomed(), {floats({3, 4, 5, 2})}},
      {"scale and offset", ScaleOp{0.5F, -1}, {floats({2, 9})}},
  };
}

}  // namespace det::test
