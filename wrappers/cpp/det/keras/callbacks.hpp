// Callbacks that are there already (seed: keras.callbacks).
#pragma once

#include <det/keras/callback.hpp>
#include <det/keras/early_stopping.hpp>
#include <det/keras/progress_printer.hpp>
#include <det/keras/reduce_lr_on_plateau.hpp>
#include <det/keras/tensor_board.hpp>

namespace det {
inline namespace v1 {
namespace keras {
namespace callbacks {

using keras::Callback;
using keras::EarlyStopping;
using keras::ReduceLROnPlateau;
using keras::TensorBoard;

}  // namespace callbacks
}  // namespace keras
}  // namespace v1
}  // namespace det
