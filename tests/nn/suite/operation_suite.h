// What all back ends are tried with: the cases of operation_case.h, with arrays, against the plain
// loops.
#pragma once

#include "tests/nn/suite/operation_case.h"
#include "wrappers/nn/backend.h"

namespace det::test {

OperationCases all_cases();

// A case with its arrays, in memory of the back end; two of one case have the same numbers in them.
struct OperationArrays {
  OperationArrays(const OperationCase &tried, nn::Backend &backend);
  OperationArrays(const OperationArrays &) = delete;
  OperationArrays &operator=(const OperationArrays &) = delete;

  // How much the outputs weigh with the gradients that come in.
  double weighed() const;

  nn::StepState state{5, 2};
  nn::Operands operands;
};

double largest_of(const nn::Array &array);
void expect_near(const OperationCase &tried, const char *what, size_t index, double found,
                 double expected, double scale, double tolerance);

// One case, if the back end has a kernel for it: says whether.
bool compare_with_loops(const OperationCase &tried, nn::Backend &backend);
// All cases that the back end has kernels for. Gives the names of those that it leaves to the
// loops.
std::vector<std::string> compare_with_loops(nn::Backend &backend);

}  // namespace det::test
