#include "wrappers/nn/cuda/cuda_plugin.h"

extern "C" {
extern const det::nn::CudaPlugin detnn_cuda_plugin;
const det::nn::CudaPlugin detnn_cuda_plugin{"of long ago", nullptr};
}
