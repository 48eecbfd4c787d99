#pragma once
#include "unreal_nne.h"
