#pragma once

#include "cmake/torch_pch.hpp"

#include <catch2/catch_all.hpp>
