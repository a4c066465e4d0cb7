#pragma once

#include <string>
#include <vector>

#include "components/models/model.hpp"
#include "components/models/weights/pretrained_config.hpp"

namespace runner {

// Compares what a folder of pretrained weights says about its tokens and classes with the dataset's. Other
// numbers for the same words give wrong results without an error, so a difference is a warning, and classes
// in another order, which can only be a mistake, are an error. Nothing is compared without a config.json.
void compare_weights_with_data(const ModelCommon& common, const DataSpec& data);

// The classes that config.json names in "id2label", by their numbers; empty if it names none.
std::vector<std::string> classes_of(const PretrainedConfig& config);

// The config.json of a model that was trained from these weights, for the folder of its run; "" if there is
// none beside them. Its classes are the dataset's.
std::string config_of_trained(const ModelCommon& common, const DataSpec& data);

}  // namespace runner
