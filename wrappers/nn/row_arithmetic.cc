#include "wrappers/nn/row_arithmetic.h"

#include "core/base/vectorised.h"

namespace det::nn {

DET_VECTORISED
void set_sums(const float *a, const float *b, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] = a[i] + b[i];
}

DET_VECTORISED
void add(const float *a, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] += a[i];
}

DET_VECTORISED
void multiply(const float *a, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] *= a[i];
}

DET_VECTORISED
void multiply(const float *a, const float *b, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] *= a[i] * b[i];
}

DET_VECTORISED
void set_products(const float *a, const float *b, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] = a[i] * b[i];
}

DET_VECTORISED
void add_products(const float *a, const float *b, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] += a[i] * b[i];
}

DET_VECTORISED
void add_products(const float *a, const float *b, const float *c, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] += a[i] * b[i] * c[i];
}

DET_VECTORISED
void set_differences(const float *a, const float *b, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] = a[i] - b[i];
}

DET_VECTORISED
void set_complements(const float *a, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] = 1 - a[i];
}

DET_VECTORISED
void mix(const float *share, const float *a, const float *b, float *y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] = share[i] * a[i] + (1 - share[i]) * b[i];
}

}  // namespace det::nn
