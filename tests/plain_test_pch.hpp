#pragma once

#include "cmake/plain_pch.hpp"

#include <catch2/catch_all.hpp>
