// Data of every shape that models take, as small as possible.
#pragma once

#include <torch/types.h>

#include "components/contract/data_spec.hpp"

namespace runner::testing::small_data {

inline const DataSpec windows{
    .input_shape = {6}, .input_type = torch::kInt64, .target_shape = {6}, .classes = 11, .vocabulary = 11};
inline const DataSpec sentences{
    .input_shape = {6}, .input_type = torch::kInt64, .classes = 3, .vocabulary = 11};
inline const DataSpec images{.input_shape = {3, 16, 16}, .classes = 5};
inline const DataSpec pairs{
    .input_shape = {6}, .input_type = torch::kInt64, .target_shape = {4}, .vocabulary = 11};
inline const DataSpec rows{.input_shape = {4}, .classes = 2, .categories = {3, 20}};

}  // namespace runner::testing::small_data
