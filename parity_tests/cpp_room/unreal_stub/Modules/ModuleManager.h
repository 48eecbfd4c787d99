#pragma once
#include "unreal_types.h"
